import { refusal } from '../../catalog-api/catalog-error.ts'
import { findExtensionTypeKind } from '../../catalog-api/extension-types.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import {
  extensionNameKey,
  isKnownMetadata,
  isMisspelledExtensionName,
  isReferenceMetadata,
  isReservedMetadata,
} from '../../catalog-api/schema-metadata.ts'
import type { ArrowField, ArrowSchema } from '../../lib/arrow/schema.ts'

/**
 * Checks the metadata of a schema and of its fields at any depth; with `isIgnored`, it has no effect, so that only extension
 * types count. Returns the names of extension types whose values can
 * refer to other objects, sorted. Throws InvalidInput (400) for an unknown extension type, and for unknown metadata in a
 * name space of catalogs.
 */
export function checkSchemaMetadata(schema: ArrowSchema, isIgnored: boolean): readonly string[] {
  const checkField = (
    { name, metadata, children }: ArrowField,
    parents: readonly string[],
  ): readonly string[] => {
    const path = [...parents, name]
    return [
      ...checkMetadata(metadata, describeColumn(path), isIgnored),
      ...children.flatMap((child) => checkField(child, path)),
    ]
  }
  const references = [
    ...checkMetadata(schema.metadata, 'the schema', isIgnored),
    ...schema.fields.flatMap((field) => checkField(field, [])),
  ]
  return [...new Set(references)].toSorted()
}

/**
 * Checks the metadata of one column, or of a schema. Returns and throws as `checkSchemaMetadata`. `owner` is for
 * messages.
 */
export function checkMetadata(
  metadata: Readonly<Record<string, string>>,
  owner: string,
  isIgnored: boolean,
): readonly string[] {
  const references: string[] = []
  for (const [key, value] of Object.entries(metadata)) {
    if (!isReservedMetadata(key)) continue
    if (isMisspelledExtensionName(key)) {
      const message = `${owner} has the ambiguous metadata ${quoteForMessage(key)}; write ${quoteForMessage(extensionNameKey)}`
      throw refusal('unknown_metadata', message)
    }
    if (isReferenceMetadata(key)) references.push(key)
    else if (key === extensionNameKey) references.push(...checkExtensionType(value, owner))
    else if (!isIgnored && !isKnownMetadata(key)) throw unknownMetadataError(key, owner)
  }
  return references
}

/** Describes a column for messages. */
export function describeColumn(path: readonly string[]): string {
  return `the column ${quoteForMessage(path.join('.'))}`
}

function checkExtensionType(name: string, owner: string): readonly string[] {
  const kind = findExtensionTypeKind(name)
  if (kind === 'references') return [name]
  if (kind === 'values') return []
  throw refusal(
    'unknown_extension_type',
    `${owner} has the extension type ${quoteForMessage(name)}, whose values the gateway does not know; expected one that ` +
      'holds its values itself',
  )
}

function unknownMetadataError(key: string, owner: string): Error {
  return refusal(
    'unknown_metadata',
    `${owner} has the metadata ${quoteForMessage(key)}, which catalogs may obey and the gateway does not know; omit it`,
  )
}
