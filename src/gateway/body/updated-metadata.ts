import type { Operation } from '../../catalog-api/operations.ts'
import { getMembers, isObject } from '../../lib/json/is-object.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import { checkMetadata, describeColumn, type AllowedColumnMetadata } from './check-column-metadata.ts'

/**
 * Checks the metadata of columns that the members `updates` write. Returns the names of extension types whose values can refer to
 * other objects: metadata can give an existing column such a type. Throws InvalidInput (400) as `checkSchemaMetadata`.
 */
export function listUpdatedReferences(
  { columnMetadata }: Operation,
  members: JsonObject,
  allowed: AllowedColumnMetadata,
): readonly string[] {
  if (columnMetadata !== 'stored' || !Array.isArray(members['updates'])) return []
  return members['updates'].flatMap((update: unknown) => {
    const { path, metadata } = getMembers(update)
    return checkMetadata(readTexts(metadata), describeColumn([String(path)]), { allowed, isIgnored: false })
  })
}

/** Keeps the texts of a map; null removes a key. */
export function readTexts(map: unknown): Record<string, string> {
  if (!isObject(map)) return {}
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
