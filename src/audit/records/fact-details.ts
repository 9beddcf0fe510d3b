import {
  type FactName,
  type FactOfType,
  hasFactType,
  type Operation,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import { isListOfStrings, isObject } from '../../lib/index.ts'
import type { KnownFacts } from '../../policy/index.ts'
import { isJson, type Details } from './audit-record.ts'

/** Format version of the facts in intents (member `facts`). An intent without it contains no facts. */
export const factsFormat = 1

/** Maps whose values are not recorded, as they may be secrets or data. */
const keyOnlyFacts: Readonly<Record<FactOfType<'map'>, string>> = {
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
  for (const [fact, [source]] of operation.facts) {
    if (hasFactType(fact, 'map')) {
      const map = stated[fact]
      if (map !== undefined) details[keyOnlyFacts[fact]] = listKeys(Object.fromEntries(map)) ?? []
    } else {
      const value = stated[fact]
      if (value !== undefined && source !== undefined) details[source.name] = truncateDetail(value)
    }
  }
  return details
}

/** Parses facts from recorded details. Facts recorded in part are pending. */
export function parseFactDetails(operation: Operation, details: Details): KnownFacts {
  const stated: StatedFacts = {}
  const pendingFacts = new Set<FactName>()
  for (const [fact, [source]] of operation.facts) {
    if (source === undefined) continue
    const value = details[hasFactType(fact, 'map') ? keyOnlyFacts[fact] : source.name]
    if (value === undefined) continue
    const restored = restoreFact(fact, value)
    if (restored === undefined) pendingFacts.add(fact)
    else Object.assign(stated, { [fact]: restored })
  }
  return { stated, pendingFacts }
}

/** Returns the value of a fact; undefined if only a part of it was recorded. */
function restoreFact(fact: FactName, value: Details[string]): StatedFacts[FactName] {
  if (hasFactType(fact, 'map')) return Array.isArray(value) && value.length === 0 ? new Map() : undefined
  if (hasFactType(fact, 'flag')) return typeof value === 'boolean' ? value : undefined
  if (hasFactType(fact, 'names')) return isListOfStrings(value) ? value : undefined
  return typeof value === 'string' && value.length <= maxTextLength ? value : undefined
}

/** Converts a value for the details of a record; a value that is too long is truncated as text. */
export function truncateDetail(value: unknown): Details[string] {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length > maxTextLength) return `${text.slice(0, maxTextLength)}...`
  return isJson(value) ? value : text
}

/** Lists the member names of an object: at most 32, each truncated. Undefined if there are none. */
export function listKeys(value: unknown): string[] | undefined {
  if (!isObject(value)) return undefined
  const keys = Object.keys(value)
    .slice(0, maxKeys)
    .map((key) => key.slice(0, maxTextLength))
  return keys.length === 0 ? undefined : keys
}
