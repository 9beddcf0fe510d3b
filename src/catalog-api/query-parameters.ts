import { assertFactSource } from './reserved-names.ts'
import { refusal } from './catalog-error.ts'
import { assertDelimiter, defaultDelimiter, quoteForMessage } from './identifiers.ts'
import type { Operation, ParameterType } from './operations.ts'

/**
 * Query parameters besides `delimiter`, decoded once; booleans are `true` or `false`. Paging and timeout are absent if
 * empty.
 */
export type QueryParameters = ReadonlyMap<string, string | readonly string[]>

const absentIfEmpty: ReadonlySet<string> = new Set(['page_token', 'limit', 'timeout'])

/**
 * Reads the query of a request for an operation. Throws InvalidInput (400) for a parameter that is unknown,
 * repeated, missing, empty or of another type.
 */
export function readQuery(
  query: string,
  operation: Operation,
): { readonly delimiter: string; readonly parameters: QueryParameters } {
  const seen = new Set<string>()
  const parameters = new Map<string, string | readonly string[]>()
  let delimiter = defaultDelimiter
  for (const pair of query === '' ? [] : query.split('&')) {
    const equals = pair.indexOf('=')
    if (equals < 1)
      throw refusal('invalid_query', `malformed query ${quoteForMessage(pair)}; expected name=value`)
    const name = decodeQuery(pair.slice(0, equals), 'a name in the query')
    const label = `the query parameter ${quoteForMessage(name)}`
    const value = decodeQuery(pair.slice(equals + 1), label)
    const isDropped = operation.droppedQuery.includes(name)
    const type = isDropped ? 'string' : operation.query.get(name)
    if (type === undefined) {
      assertFactSource(operation, 'query', name)
      const known = [...operation.query.keys()].join(', ')
      throw refusal(
        'invalid_query',
        `unknown query parameter ${quoteForMessage(name)} of ${operation.name}; expected ${known}`,
      )
    }
    if (type !== 'strings' && seen.has(name)) throw refusal('malformed_target', `${label} is repeated`)
    seen.add(name)
    if (name === 'delimiter') {
      assertDelimiter(value)
      delimiter = value
    } else if (!isDropped && !(value === '' && absentIfEmpty.has(name))) {
      // An empty filter counts as sent: taken as absent, it would select every row.
      if (value === '') throw refusal('invalid_query', `${label} is empty; omit it`)
      const known = parameters.get(name)
      const texts = Array.isArray(known) ? known : []
      parameters.set(name, type === 'strings' ? [...texts, value] : validateParameter(label, type, value))
    }
  }
  for (const name of operation.required) {
    if (!parameters.has(name))
      throw refusal('invalid_query', `missing query parameter ${quoteForMessage(name)} of ${operation.name}`)
  }
  return { delimiter, parameters }
}

/** Describes the values that `isUnsigned64` accepts, for messages. */
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

/** Queries are form-encoded: real clients write a space as `+`. */
function decodeQuery(text: string, label: string): string {
  return decodeComponent(text.replaceAll('+', '%20'), label)
}

const extraEncodedCharacters = /[!'()*]/g

/**
 * Decodes a part of a request target once. `label` names it in errors. Throws InvalidInput (400) for text that is
 * not UTF-8 or has a NUL character.
 */
export function decodeComponent(text: string, label: string): string {
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
  return encodeURIComponent(text).replace(
    extraEncodedCharacters,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
