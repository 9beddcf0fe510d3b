import { canonicalBranch, canonicalWord, type FactName, type FactType } from '../../interface/facts.ts'
import { factTypes } from '../../interface/facts.ts'
import { refusal, type InterfaceError } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import type { Operation } from '../../interface/operations.ts'
import { assertBranch, assertTag } from '../../interface/reference-names.ts'
import { WatchedJson } from '../body/json-watch.ts'

/**
 * No fact is larger than any that means something: each condition on it costs time by its size. In characters of a
 * text, keys of a map, and names of a list.
 */
const maximumTextLength = 8192
const maximumKeys = 1000
const maximumNames = 64

/** The value of a fact, in its one form. */
export type FactValue = string | boolean | readonly string[] | ReadonlyMap<string, string>

/**
 * The value of a fact that a query parameter or a header states as text; maps are JSON. `where` names the place in
 * messages. Throws InvalidInput (400) for a value that the fact cannot have.
 */
export function readText(operation: Operation, fact: FactName, text: string, where: string): FactValue {
  const type: FactType = factTypes[fact]
  if (type === 'map') return readMapText(text, where)
  return type === 'flag' ? text === 'true' : readString(operation, fact, text, where)
}

/**
 * The value of a fact that a member of the body states; undefined for null, which states nothing. Throws InvalidInput
 * (400) for a value that the fact cannot have.
 */
export function readMember(
  operation: Operation,
  fact: FactName,
  value: unknown,
  where: string,
): FactValue | undefined {
  if (value === null || value === undefined) return undefined
  const type: FactType = factTypes[fact]
  if (type === 'map') return readMap(value, where)
  if (type === 'flag') {
    if (typeof value !== 'boolean') throw wrongType(where, value, 'true or false')
    return value
  }
  if (type === 'names') {
    if (!isListOfStrings(value)) throw wrongType(where, value, 'a list of strings')
    assertAtMost(maximumNames, value.length, where, 'names')
    return value
  }
  if (typeof value !== 'string') throw wrongType(where, value, 'a string')
  return readString(operation, fact, value, where)
}

/** Whether two values of a fact are the same. */
export function isSameFact(one: FactValue, other: FactValue): boolean {
  return one === other || textOf(one) === textOf(other)
}

/** A value of a fact as text, for messages. */
export function showFact(value: FactValue): string {
  const text = typeof value === 'string' ? show(value) : textOf(value)
  return text.length > 200 ? `${text.slice(0, 197)}...` : text
}

function textOf(value: FactValue): string {
  if (value instanceof Map) {
    return JSON.stringify([...value].toSorted(([one], [other]) => (one < other ? -1 : 1)))
  }
  return JSON.stringify(value)
}

function readString(operation: Operation, fact: FactName, text: string, where: string): string {
  const type: FactType = factTypes[fact]
  assertAtMost(maximumTextLength, text.length, where, 'characters')
  if (type === 'word') return readWord(operation, fact, text)
  if (type === 'tag') assertTag(text)
  if (type !== 'branch') return text
  assertBranch(text)
  return canonicalBranch(text)
}

function readWord({ name, modes, behaviors }: Operation, fact: FactName, text: string): string {
  const word = canonicalWord(text)
  const known = (fact === 'behavior' ? behaviors : modes).map((one) => one.toLowerCase())
  if (known.includes(word)) return word
  throw refusal('invalid_fact', `${name} has no ${fact} ${show(text)}; it knows ${known.join(', ')}`)
}

/** JSON that decides something has one meaning, wherever it stands: the same rules as for a body. */
function readMapText(text: string, where: string): ReadonlyMap<string, string> {
  const bytes = Buffer.from(text)
  const json = new WatchedJson({ name: () => 'nothing' }, 0)
  try {
    json.push(bytes)
    if (!json.end()) throw refusal('invalid_fact', 'it is empty')
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace('the body', 'it') : ''
    throw refusal('invalid_fact', `${where} is not a JSON object of strings: ${reason}`, { cause: error })
  }
  return readMap(JSON.parse(text), where)
}

function readMap(value: unknown, where: string): ReadonlyMap<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(where, value, 'an object of strings')
  }
  const map = new Map<string, string>()
  const entries = Object.entries(value)
  assertAtMost(maximumKeys, entries.length, where, 'keys')
  for (const [key, text] of entries) {
    if (typeof text !== 'string') throw wrongType(`${show(key)} in ${where}`, text, 'a string')
    map.set(key, text)
  }
  return map
}

function assertAtMost(maximum: number, found: number, where: string, what: string): void {
  if (found > maximum)
    throw refusal('invalid_fact', `${where} has ${found} ${what}; expected at most ${maximum}`)
}

function isListOfStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((part) => typeof part === 'string')
}

function wrongType(where: string, value: unknown, expected: string): InterfaceError {
  return refusal('invalid_fact', `${where} is ${describe(value)}; expected ${expected}`)
}

/** A JSON value in a word or two, for messages. */
export function describe(value: unknown): string {
  if (value === undefined) return 'absent'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : show(JSON.stringify(value))
}
