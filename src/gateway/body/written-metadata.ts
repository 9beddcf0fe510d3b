import {
  extensionNameKey,
  isKnownMetadata,
  isMisspelledExtensionName,
  isReferenceMetadata,
  isReferenceType,
  isReservedMetadata,
  isValueType,
  type Operation,
  quoteForMessage,
  refusal,
} from '../../catalog-api/index.ts'
import type { ArrowField, ArrowSchema } from '../../arrow/index.ts'
import { getMembers, isObject } from '../../lib/index.ts'
import type { JsonObject } from '../facts/stated-facts.ts'

/**
 * Checks the metadata of a schema and of its fields at any depth; with `isIgnored`, it has no effect, so that only extension
 * types count. Returns the names of extension types whose values can refer to other objects, sorted. Throws InvalidInput
 * (400) for an unknown extension type, and for unknown metadata in a name space of catalogs.
 */
export function checkSchemaMetadata(schema: ArrowSchema, isIgnored: boolean): readonly string[] {
  const references = new Set<string>()
  checkMetadata(schema.metadata, [], isIgnored, references)
  const checkFields = (fields: readonly ArrowField[], parents: readonly string[]): void => {
    for (const { name, metadata, children } of fields) {
      const column = [...parents, name]
      checkMetadata(metadata, column, isIgnored, references)
      checkFields(children, column)
    }
  }
  checkFields(schema.fields, [])
  return [...references].toSorted()
}

/** Checks the metadata of a column, or of a schema, which has no names; adds to `references`. Throws as `checkSchemaMetadata`. */
export function checkMetadata(
  metadata: Readonly<Record<string, string>>,
  column: readonly string[],
  isIgnored: boolean,
  references: Set<string>,
): void {
  const owner = column.length === 0 ? 'the schema' : `the column ${quoteForMessage(column.join('.'))}`
  for (const [key, value] of Object.entries(metadata)) {
    if (!isReservedMetadata(key)) continue
    if (isMisspelledExtensionName(key)) {
      const message = `${owner} has the ambiguous metadata ${quoteForMessage(key)}; write ${quoteForMessage(extensionNameKey)}`
      throw refusal('unknown_metadata', message)
    }
    if (isReferenceMetadata(key)) references.add(key)
    else if (key === extensionNameKey) {
      if (isReferenceType(value)) references.add(value)
      else if (!isValueType(value)) {
        throw refusal(
          'unknown_extension_type',
          `${owner} has the extension type ${quoteForMessage(value)}, whose values the gateway does not know; expected ` +
            'one that holds its values itself',
        )
      }
    } else if (!isIgnored && !isKnownMetadata(key)) {
      const message = `${owner} has the metadata ${quoteForMessage(key)}, which catalogs may obey and the gateway does not know; omit it`
      throw refusal('unknown_metadata', message)
    }
  }
}

/** Members that are metadata of a column or a schema. */
const metadataMembers: ReadonlySet<string> = new Set(['metadata', 'field_metadata'])

/**
 * Describes columns that the table has, with their metadata, which has no effect. But the upstream reads values of these
 * columns as their extension types say.
 */
const descriptionMember = 'input_schema'

/** The arguments of a function: constants, which may be any JSON, and no metadata. */
const constantsMember = 'application'

/**
 * Checks the metadata of columns in a JSON body, at any depth. Returns the names of extension types whose values can
 * refer to other objects, sorted: metadata can give a column such a type. Throws InvalidInput (400) as
 * `checkSchemaMetadata`.
 */
export function listWrittenReferences({ columnMetadata }: Operation, members: JsonObject): readonly string[] {
  const references = new Set<string>()
  const check = (value: unknown, parents: readonly string[], isIgnored: boolean): void => {
    if (Array.isArray(value)) for (const item of value) check(item, parents, isIgnored)
    if (!isObject(value)) return
    const column = [...parents, ...readColumnName(value)]
    for (const [name, member] of Object.entries(value)) {
      if (metadataMembers.has(name)) {
        checkMetadata(readTexts(member), column, isIgnored, references)
      } else if (name !== constantsMember) check(member, column, isIgnored || name === descriptionMember)
    }
  }
  if (columnMetadata === 'stored') check(members, [], false)
  return [...references].toSorted()
}

/** The name of the column that an object describes, in a list; empty if it describes none. */
function readColumnName(value: object): readonly string[] {
  const { path, name, column } = getMembers(value)
  return [path, name, column].filter((one) => typeof one === 'string').slice(0, 1)
}

/** Keeps the texts of a map; null removes a key. */
export function readTexts(map: unknown): Record<string, string> {
  if (!isObject(map)) return {}
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
