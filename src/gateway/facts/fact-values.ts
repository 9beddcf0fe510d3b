import {
  assertReference,
  canonicalizeBranch,
  canonicalizeWord,
  type CatalogError,
  type FactName,
  type FactType,
  factTypes,
  hasFactType,
  type Operation,
  quoteForMessage,
  refusal,
  truncateForMessage,
} from '../../catalog-api/index.ts'
import { isListOfStrings, isObject, runAtOnce } from '../../lib/index.ts'
import { JsonTransformer } from '../json/json-transformer.ts'

/**
 * Maximum size of a fact, because evaluating a condition takes time in proportion: characters of a text, keys of a map,
 * names of a list.
 */
const maxTextLength = 8192
const maxKeys = 1000
const maxNames = 64

/** A fact value in its canonical form. */
export type FactValue = string | boolean | readonly string[] | ReadonlyMap<string, string>

/**
 * Parses a fact from a query parameter or a header; maps are JSON. `where` names the source in messages. Throws
 * InvalidInput (400) for a value that the fact cannot have.
 */
export function parseFactText(
  operation: Operation,
  fact: FactName,
  text: string,
  where: string,
): FactValue | undefined {
  const type: FactType = factTypes[fact]
  const value = type === 'map' ? parseMapText(text, where) : type === 'flag' ? text === 'true' : text
  return parseFactMember(operation, fact, value, where)
}

/**
 * Parses a fact from a body member; undefined for null, which states nothing. Throws InvalidInput (400) for a value
 * that the fact cannot have.
 */
export function parseFactMember(
  operation: Operation,
  fact: FactName,
  value: unknown,
  where: string,
): FactValue | undefined {
  if (value === null || value === undefined) return undefined
  const type: FactType = factTypes[fact]
  if (type === 'map') return parseFactMap(value, where)
  if (type === 'flag') {
    if (typeof value !== 'boolean') throw wrongTypeError(where, value, 'true or false')
    return value
  }
  if (type === 'names') {
    if (!isListOfStrings(value)) throw wrongTypeError(where, value, 'a list of strings')
    assertAtMost(maxNames, value.length, where, 'names')
    return value
  }
  if (typeof value !== 'string') throw wrongTypeError(where, value, 'a string')
  assertAtMost(maxTextLength, value.length, where, 'characters')
  if (type === 'word') return parseFactWord(operation, fact, value)
  if (type === 'tag' || type === 'branch') assertReference(type, value)
  return type === 'branch' ? canonicalizeBranch(value) : value
}

export function isSameFactValue(one: FactValue, other: FactValue): boolean {
  return one === other || serializeFact(one) === serializeFact(other)
}

export function formatFactForMessage(value: FactValue): string {
  return truncateForMessage(serializeFact(value))
}

function serializeFact(value: FactValue): string {
  const isMap = value instanceof Map
  return JSON.stringify(isMap ? [...value].toSorted(([one], [other]) => (one < other ? -1 : 1)) : value)
}

function parseFactWord({ name, modes, behaviors }: Operation, fact: FactName, text: string): string {
  const word = canonicalizeWord(text)
  const known = (fact === 'behavior' ? behaviors : modes).map((one) => one.toLowerCase())
  if (known.includes(word)) return word
  throw refusal(
    'invalid_fact',
    `${quoteForMessage(text)} is not a ${fact} of ${name}; expected one of ${known.join(', ')}`,
  )
}

/** JSON that affects a decision must be unambiguous in a header as in a body. */
function parseMapText(text: string, where: string): unknown {
  const json = new JsonTransformer(Buffer.from(text), { visitMember: () => 'nothing' })
  try {
    if (!runAtOnce(json.read())) throw refusal('invalid_fact', 'empty value')
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace('the body', 'it') : ''
    throw refusal('invalid_fact', `${where} is not a JSON object of strings: ${reason}`, { cause: error })
  }
  return JSON.parse(text)
}

function parseFactMap(value: unknown, where: string): ReadonlyMap<string, string> {
  if (!isObject(value)) throw wrongTypeError(where, value, 'an object of strings')
  const map = new Map<string, string>()
  const entries = Object.entries(value)
  assertAtMost(maxKeys, entries.length, where, 'keys')
  const keysByFold = new Map<string, string>()
  for (const [key, text] of entries) {
    if (typeof text !== 'string')
      throw wrongTypeError(`${quoteForMessage(key)} in ${where}`, text, 'a string')
    // Some catalogs ignore the case of keys, and would read one of the two.
    const folded = key.toUpperCase().toLowerCase()
    const other = keysByFold.get(folded)
    if (other !== undefined) {
      throw refusal(
        'ambiguous_member',
        `${where} has the keys ${quoteForMessage(other)} and ${quoteForMessage(key)}, which some catalogs do not tell apart; omit one`,
      )
    }
    keysByFold.set(folded, key)
    map.set(key, text)
  }
  return map
}

function assertAtMost(maximum: number, found: number, where: string, what: string): void {
  if (found > maximum)
    throw refusal('invalid_fact', `${where} has ${found} ${what}; expected at most ${maximum}`)
}

function wrongTypeError(where: string, value: unknown, expected: string): CatalogError {
  return refusal('invalid_fact', `${where} is ${describeJsonValue(value)}; expected ${expected}`)
}

/** Whether a JSON value is null, or an object or list without content. */
export function isEmptyValue(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** Describes a JSON value briefly, for messages. */
export function describeJsonValue(value: unknown): string {
  if (value === undefined) return 'absent'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return typeof value === 'string' ? quoteForMessage(value) : JSON.stringify(value)
}

/**
 * Throws InvalidInput (400) unless the path is a canonical path of the staging manifest of some table. Only the catalog
 * knows whether it is below this table. `where` is the member that contains it.
 */
export function assertManifestPath(path: string | undefined, where: string): void {
  if (path === undefined) throw refusal('invalid_body', `the body has no "${where}", the staging manifest`)
  const segments = path
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
    .replace(/^\//, '')
    .split('/')
  const plain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  // oxlint-disable-next-line no-control-regex
  if (!plain || /[\u0000-\u001f\\%]/.test(path) || segments.at(-2) !== '_versions') {
    throw refusal(
      'invalid_body',
      `"${where}" is ${quoteForMessage(path)}; expected the path of a staging manifest in a folder "_versions"`,
    )
  }
}

/**
 * Returns a mode or behavior as it is forwarded, so that catalogs read the one that was decided. The names of the
 * operation, in PascalCase or snake_case and in any case, stay as they are; another spelling, such as that of LanceDB's
 * client with quotes inside of the text, becomes the name.
 */
export function respellWord({ modes, behaviors }: Operation, fact: FactName, text: string): string {
  if (!hasFactType(fact, 'word')) return text
  const word = canonicalizeWord(text)
  const name = (fact === 'behavior' ? behaviors : modes).find((one) => canonicalizeWord(one) === word)
  // A word that is not known is refused.
  if (name === undefined) return text
  const spellings = [name, name.replaceAll(/(?<=.)[A-Z]/g, '_$&')].map((one) => one.toLowerCase())
  return /^[A-Za-z_]+$/.test(text) && spellings.includes(text.toLowerCase()) ? text : name
}
