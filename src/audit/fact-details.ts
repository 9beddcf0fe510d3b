import { factTypes, type FactName, type StatedFacts } from '../interface/facts.ts'
import type { Operation } from '../interface/operations.ts'
import type { ReadFacts } from '../policy/operation-facts.ts'
import type { Details } from './records.ts'

/** The format in which intents hold facts: `facts` of an intent. An intent without it tells no facts. */
export const factsFormat = 1

/** Maps of which a record holds the keys alone: the values may be secrets, or belong to the data. */
const keysOnly: Partial<Record<FactName, string>> = {
  metadata: 'metadata_keys',
  properties: 'property_keys',
  storageOptions: 'storage_option_keys',
}

const maximumText = 1024
const maximumKeys = 32

/** The details that hold the facts of an operation, under the names of the interface and cut to a bounded size. */
export function detailsOfFacts(operation: Operation, stated: StatedFacts): Record<string, Details[string]> {
  const details: Record<string, Details[string]> = {}
  for (const [fact, [place]] of operation.facts) {
    const value = stated[fact]
    if (value === undefined || place === undefined) continue
    const keys = keysOnly[fact]
    if (keys === undefined) details[place.name] = boundedDetail(value)
    else details[keys] = keysOf(Object.fromEntries(value as ReadonlyMap<string, string>)) ?? []
  }
  return details
}

/** The facts that such details tell; those are pending that they hold in part. */
export function factsOfDetails(operation: Operation, details: Details): ReadFacts {
  const stated: Partial<Record<FactName, unknown>> = {}
  const pending = new Set<FactName>()
  for (const [fact, [place]] of operation.facts) {
    if (place === undefined) continue
    const keys = keysOnly[fact]
    const value = details[keys ?? place.name]
    if (value === undefined) continue
    const whole = keys === undefined ? wholeValue(fact, value) : emptyMap(value)
    if (whole === undefined) pending.add(fact)
    else stated[fact] = whole
  }
  return { stated: stated as StatedFacts, pending }
}

/** A value as the details of a record hold it: what is too long is cut, as text. */
export function boundedDetail(value: unknown): Details[string] {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length > maximumText) return `${text.slice(0, maximumText)}...`
  return value as Details[string]
}

/** The names of the members of an object, at most 32 and each cut; undefined if there are none. */
export function keysOf(value: unknown): string[] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const keys = Object.keys(value)
    .slice(0, maximumKeys)
    .map((key) => key.slice(0, maximumText))
  return keys.length === 0 ? undefined : keys
}

/** A map of which a record holds the keys is known only if it has none. */
function emptyMap(keys: Details[string]): ReadonlyMap<string, string> | undefined {
  return Array.isArray(keys) && keys.length === 0 ? new Map() : undefined
}

/** The value of a fact; undefined if it was cut. */
function wholeValue(fact: FactName, value: Details[string]): unknown {
  const type = factTypes[fact]
  if (type === 'flag') return typeof value === 'boolean' ? value : undefined
  if (type === 'names') return Array.isArray(value) ? value : undefined
  return typeof value === 'string' && value.length <= maximumText ? value : undefined
}
