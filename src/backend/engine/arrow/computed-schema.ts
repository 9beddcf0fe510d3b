import { createRequire } from 'node:module'
import type * as Arrow from 'apache-arrow'
import { CatalogError, invalidInput } from '../../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../../catalog-api/identifiers.ts'

// The types of the module build do not match those of the engine's package.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- require has no types
const arrow = createRequire(import.meta.url)('apache-arrow') as typeof Arrow

interface NewField {
  /** An Arrow IPC file whose first field has the type. */
  readonly typeFile: Uint8Array
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
}

/**
 * Builds an Arrow IPC file of nullable fields without rows. A dictionary type becomes the type of its values. Throws
 * InvalidInput for a field without a type, and Unsupported for a type that this process cannot write.
 */
export function buildSchemaFile(fields: readonly NewField[]): Buffer {
  const schema = new arrow.Schema(fields.map(buildField))
  return Buffer.from(arrow.tableToIPC(new arrow.Table(schema), 'file'))
}

function buildField({ typeFile, name, metadata }: NewField): Arrow.Field {
  const type = readFirstType(typeFile, name)
  if (arrow.DataType.isNull(type)) {
    throw invalidInput(
      `the column ${quoteForMessage(name)} has no type; expected an expression like CAST(NULL AS int)`,
    )
  }
  const plain: Arrow.DataType = arrow.DataType.isDictionary(type) ? type.valueType : type
  return new arrow.Field(name, plain, true, new Map(Object.entries(metadata)))
}

function readFirstType(file: Uint8Array, name: string): Arrow.DataType {
  let schema: Arrow.Schema
  try {
    schema = arrow.tableFromIPC(file).schema
  } catch (error) {
    const message = `the type of the column ${quoteForMessage(name)} is not supported by this catalog; cast its value to another type`
    throw new CatalogError('Unsupported', message, { cause: error })
  }
  const [first] = schema.fields
  if (first === undefined) throw new Error('an Arrow IPC file without a field')
  return first.type
}
