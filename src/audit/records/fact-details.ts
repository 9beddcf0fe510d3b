import { factTypes, type FactName, type StatedFacts } from '../../catalog-api/facts.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import type { KnownFacts } from '../../policy/conditions/operation-facts.ts'
import type { Details } from './audit-record.ts'

/** Format version of the facts in intents (member `facts`). An intent without it contains no facts. */
export const factsFormat = 1

/** Maps of which only the keys are recorded: the values may be secrets or data. */
const keyOnlyFacts: Partial<Record<FactName, string>> = {
  metadata: 'metadata_keys',
  properties: 'property_keys',
  storageOptions: 'storage_option_keys',
}

const maxTextLength = 1024
const maxKeys = 32

/** Formats the facts of an operation as details, with the names of the catalog API and bounded in size. */
export function formatFactDetails(
  operation: Operation,
  stated: StatedFacts,
): Record<string, Details[string]> {
  const details: Record<string, Details[string]> = {}
  for (const [fact, [location]] of operation.facts) {
    const value = stated[fact]
    if (value === undefined || location === undefined) continue
    const keys = keyOnlyFacts[fact]
    if (keys === undefined) details[location.name] = truncateDetail(value)
    else details[keys] = listKeys(Object.fromEntries(value as ReadonlyMap<string, string>)) ?? []
  }
  return details
}

/** Parses facts from recorded details. Facts recorded in part are pending. */
export function parseFactDetails(operation: Operation, details: Details): KnownFacts {
  const stated: Partial<Record<FactName, unknown>> = {}
  const pendingFacts = new Set<FactName>()
  for (const [fact, [location]] of operation.facts) {
    if (location === undefined) continue
    const keys = keyOnlyFacts[fact]
    const value = details[keys ?? location.name]
    if (value === undefined) continue
    const whole = keys === undefined ? parseCompleteValue(fact, value) : parseEmptyMap(value)
    if (whole === undefined) pendingFacts.add(fact)
    else stated[fact] = whole
  }
  return { stated: stated as StatedFacts, pendingFacts }
}

/** Converts a value for the details of a record; a value that is too long is truncated as text. */
export function truncateDetail(value: unknown): Details[string] {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length > maxTextLength) return `${text.slice(0, maxTextLength)}...`
  return value as Details[string]
}

/** Lists the member names of an object: at most 32, each truncated. Undefined if there are none. */
export function listKeys(value: unknown): string[] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const keys = Object.keys(value)
    .slice(0, maxKeys)
    .map((key) => key.slice(0, maxTextLength))
  return keys.length === 0 ? undefined : keys
}

function parseEmptyMap(keys: Details[string]): ReadonlyMap<string, string> | undefined {
  return Array.isArray(keys) && keys.length === 0 ? new Map() : undefined
}

/** Returns the value of a fact; undefined if it was truncated. */
function parseCompleteValue(fact: FactName, value: Details[string]): unknown {
  const type = factTypes[fact]
  if (type === 'flag') return typeof value === 'boolean' ? value : undefined
  if (type === 'names') return Array.isArray(value) ? value : undefined
  return typeof value === 'string' && value.length <= maxTextLength ? value : undefined
}
