import { assertFactSource } from './reserved-names.ts'
import { refusal, type CatalogError } from './catalog-error.ts'
import { assertDelimiter, defaultDelimiter, quoteForMessage } from './identifiers.ts'
import type { Operation, ParameterType } from './operations.ts'

/**
 * Query parameters besides `delimiter`, decoded once; booleans are `true` or `false`. Paging and timeout are absent if
 * empty.
 */
export type QueryParameters = ReadonlyMap<string, string | readonly string[]>

interface ReadQuery {
  readonly delimiter: string
  readonly parameters: QueryParameters
}

/**
 * Reads the query of a request for an operation. Throws InvalidInput (400) for a parameter that is unknown,
 * repeated, missing, empty or of another type.
 */
export function readQuery(query: string, operation: Operation): ReadQuery {
  const dropped = new Set<string>()
  const parameters = new Map<string, string | readonly string[]>()
  let delimiter: string | undefined
  for (const pair of query === '' ? [] : query.split('&')) {
    const equals = pair.indexOf('=')
    if (equals < 1)
      throw refusal('invalid_query', `malformed query ${quoteForMessage(pair)}; expected name=value`)
    const name = decodeQuery(pair.slice(0, equals), 'a name in the query')
    const value = decodeQuery(pair.slice(equals + 1), `the query parameter ${quoteForMessage(name)}`)
    const type = operation.query.get(name)
    if (operation.droppedQuery.includes(name)) {
      if (dropped.has(name)) throw repeatedParameterError(name)
      dropped.add(name)
      continue
    }
    if (type === undefined) {
      assertFactSource(operation, 'query', name)
      throw unknownParameterError(name, operation)
    }
    if (name === 'delimiter') {
      if (delimiter !== undefined) throw repeatedParameterError(name)
      assertDelimiter(value)
      delimiter = value
    } else {
      addParameter(parameters, name, type, value)
    }
  }
  for (const name of operation.required) {
    if (!parameters.has(name))
      throw refusal('invalid_query', `missing query parameter ${quoteForMessage(name)} of ${operation.name}`)
  }
  return {
    delimiter: delimiter ?? defaultDelimiter,
    parameters: omitEmptyParameters(parameters),
  }
}

function addParameter(
  parameters: Map<string, string | readonly string[]>,
  name: string,
  type: ParameterType,
  value: string,
) {
  const known = parameters.get(name)
  if (type === 'strings') {
    if (value === '') throw refusal('invalid_query', `the query parameter ${quoteForMessage(name)} is empty`)
    parameters.set(name, typeof known === 'object' ? [...known, value] : [value])
    return
  }
  if (known !== undefined) throw repeatedParameterError(name)
  parameters.set(
    name,
    value === '' ? '' : validateParameter(`the query parameter ${quoteForMessage(name)}`, type, value),
  )
}

/** Describes what `isUnsigned64` accepts, for messages. */
export const unsigned64 = 'an integer from 0 to 18446744073709551615'

/** Whether a text is the decimal of an unsigned integer of 64 bits, without zeros before it. */
export function isUnsigned64(text: string): boolean {
  return /^(?:0|[1-9]\d{0,19})$/.test(text) && BigInt(text) < 2n ** 64n
}

/** Returns the value, of a boolean in lower case. Throws InvalidInput (400), naming `label`, for one of another type. */
export function validateParameter(label: string, type: ParameterType, value: string): string {
  if (type === 'integer' && !(/^\d{1,10}$/.test(value) && Number(value) <= 2_147_483_647)) {
    throw refusal(
      'invalid_query',
      `${label} is ${quoteForMessage(value)}; expected an integer from 0 to 2147483647`,
    )
  }
  if (type === 'long' && !isUnsigned64(value))
    throw refusal('invalid_query', `${label} is ${quoteForMessage(value)}; expected ${unsigned64}`)
  if (type !== 'boolean') return value
  const lower = value.toLowerCase()
  if (lower !== 'true' && lower !== 'false') {
    throw refusal('invalid_query', `${label} is ${quoteForMessage(value)}; expected true or false`)
  }
  return lower
}

const absentIfEmpty: ReadonlySet<string> = new Set(['page_token', 'limit', 'timeout'])

/**
 * Runs last, to detect repeats of empty values. An empty filter counts as sent: taken as absent, it would select every
 * row.
 */
function omitEmptyParameters(parameters: Map<string, string | readonly string[]>): QueryParameters {
  for (const [name, value] of parameters) {
    if (value !== '') continue
    if (!absentIfEmpty.has(name))
      throw refusal('invalid_query', `the query parameter ${quoteForMessage(name)} is empty; omit it`)
    parameters.delete(name)
  }
  return parameters
}

/** InvalidInput (400). */
function unknownParameterError(name: string, operation: Operation): CatalogError {
  const known = [...operation.query.keys()].join(', ')
  return refusal(
    'invalid_query',
    `unknown query parameter ${quoteForMessage(name)} of ${operation.name}; expected ${known}`,
  )
}

function repeatedParameterError(name: string): CatalogError {
  return refusal('malformed_target', `the query parameter ${quoteForMessage(name)} is repeated`)
}

/** Queries are form-encoded: real clients write a space as `+`. */
function decodeQuery(text: string, label: string): string {
  return decodeComponent(text.includes('+') ? text.replaceAll('+', '%20') : text, label)
}

const extraEncodedCharacters = /[!'()*]/g
const unreserved = /^[A-Za-z0-9\-._~]*$/

/**
 * Decodes a part of a request target once. `label` names it in errors. Throws InvalidInput (400) for what is not UTF-8,
 * and for a NUL character.
 */
export function decodeComponent(text: string, label: string): string {
  if (!text.includes('%')) return text
  let decoded: string
  try {
    decoded = decodeURIComponent(text)
  } catch {
    throw refusal('malformed_target', `${label} is percent-encoded but not valid UTF-8`)
  }
  if (decoded.includes('\0')) throw refusal('invalid_request', `${label} contains a NUL character`)
  return decoded
}

/** Percent-encodes everything but the unreserved characters (RFC 3986, 2.3). */
export function encodeComponent(text: string): string {
  if (unreserved.test(text)) return text
  return encodeURIComponent(text).replace(
    extraEncodedCharacters,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
