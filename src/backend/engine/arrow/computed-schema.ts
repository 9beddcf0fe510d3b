import { DataType, Field, Schema, Table, tableFromIPC, tableToIPC } from 'apache-arrow'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'

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
  const schema = new Schema(fields.map(buildField))
  return Buffer.from(tableToIPC(new Table(schema), 'file'))
}

function buildField({ typeFile, name, metadata }: NewField): Field {
  const type = readFirstType(typeFile, name)
  if (DataType.isNull(type)) {
    throw invalidInput(
      `the column ${quoteForMessage(name)} has no type; expected an expression like CAST(NULL AS int)`,
    )
  }
  const plain: DataType = DataType.isDictionary(type) ? type.valueType : type
  return new Field(name, plain, true, new Map(Object.entries(metadata)))
}

function readFirstType(file: Uint8Array, name: string): DataType {
  let schema: Schema
  try {
    schema = tableFromIPC(file).schema
  } catch (error) {
    const message = `the type of the column ${quoteForMessage(name)} is not supported by this catalog; cast its value to another type`
    throw new CatalogError('Unsupported', message, { cause: error })
  }
  const [first] = schema.fields
  if (first === undefined) throw new Error('an Arrow IPC file without a field')
  return first.type
}
