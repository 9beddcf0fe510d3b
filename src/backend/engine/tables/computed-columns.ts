import { DataType, Field, Schema, Table, tableFromIPC, tableToIPC } from 'apache-arrow'
import { Type } from 'apache-arrow/fb/type'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { type RequestOf } from '../../schemas/operation-schemas.ts'
import { type ArrowField, type ArrowSchema, readSchema } from 'catalog-gateway/arrow'
import { readFileSchema, readFrames, readWithin } from '../arrow/arrow-frames.ts'
import type { NativeTable } from '../native/native-module.ts'
import { findField, readColumnName } from '../schema/fields.ts'
import { parenthesizeExpression } from '../sql/expressions.ts'
import { findColumns, findVolatileFunction } from '../sql/find-names.ts'

/** The metadata of a computed column, as LanceDB writes it. */
const metadataPrefix = 'computed_column'
const kindKey = 'computed_column.kind'
const expressionKey = 'computed_column.expression'
const inputsKey = 'computed_column.inputs'

export interface ComputedColumn {
  readonly name: string
  readonly expression: string
}

/**
 * Adds columns whose expressions are stored in the metadata of their fields. Their values are null until a backfill.
 * Throws InvalidInput for an invalid or volatile expression, and TableSchemaValidationError for an existing name.
 */
export async function addComputedColumns(
  table: NativeTable,
  columns: readonly ComputedColumn[],
): Promise<{ version: number }> {
  const schema = readFileSchema(await table.schema())
  const names = schema.fields.map(({ name }) => name)
  const fields = await Promise.all(
    columns.map(async ({ name, expression }) => {
      if (names.includes(name)) {
        const message = `the column ${quoteForMessage(name)} already exists`
        throw new CatalogError('TableSchemaValidationError', message)
      }
      return {
        name,
        typeFile: await evaluateSchema(table, names, expression),
        metadata: {
          [metadataPrefix]: 'true',
          [kindKey]: 'sql',
          [expressionKey]: expression,
          [inputsKey]: JSON.stringify(findColumns(expression, names)),
        },
      }
    }),
  )
  return await table.addColumnsWithSchema(buildSchemaFile(fields))
}

/** Throws InvalidInput if a change renames, retypes or drops a column that the expression of another one reads. */
export function assertNotInputs(
  schema: ArrowSchema,
  changed: readonly string[],
  dropped: readonly string[],
): void {
  for (const field of schema.fields) {
    if (dropped.includes(field.name)) continue
    const inputs = readInputs(field)
    const input = [...changed, ...dropped].find((path) => inputs.includes(readColumnName(path)))
    if (input === undefined) continue
    throw invalidInput(
      `the computed column ${quoteForMessage(field.name)} reads the column ${quoteForMessage(input)}; drop it first`,
    )
  }
}

/** Throws InvalidInput if an update sets a computed column. */
export async function assertUpdatesNotComputed(table: NativeTable, paths: readonly string[]): Promise<void> {
  assertNotWritten(await listComputedColumns(table), new Set(paths.map(readColumnName)))
}

/** Throws InvalidInput if the rows of a complete Arrow IPC stream have values of a computed column other than null. */
export async function assertUploadNotComputed(table: NativeTable, stream: Uint8Array): Promise<void> {
  const computed = await listComputedColumns(table)
  if (computed.length > 0) assertNotWritten(computed, findColumnsWithValues(stream))
}

function assertNotWritten(computed: readonly string[], written: ReadonlySet<string>): void {
  const column = computed.find((name) => written.has(name))
  if (column === undefined) return
  throw invalidInput(
    `the column ${quoteForMessage(column)} is computed, and only AlterTableBackfillColumns sets its values; ` +
      'expected rows without it, or with null',
  )
}

async function listComputedColumns(table: NativeTable): Promise<string[]> {
  const { fields } = readFileSchema(await table.schema())
  return fields.filter(isComputed).map(({ name }) => name)
}

/** Throws InvalidInput if an alteration changes the type of a computed column, which is that of its expression. */
export function assertNotRetyped(schema: ArrowSchema, retyped: readonly string[]): void {
  const computed = schema.fields.find(
    (field) => isComputed(field) && retyped.some((path) => readColumnName(path) === field.name),
  )
  if (computed === undefined) return
  const column = quoteForMessage(computed.name)
  throw invalidInput(
    `the type of the computed column ${column} is that of its expression; drop and add the column`,
  )
}

/** Throws InvalidInput if an update writes the metadata that defines a computed column, or removes it. */
export function assertDefinitionsKept(
  schema: ArrowSchema,
  updates: readonly RequestOf<'UpdateFieldMetadata'>['updates'][number][],
): void {
  for (const { path, metadata, replace } of updates) {
    const written = Object.keys(metadata).find(
      (key) => key === metadataPrefix || key.startsWith(`${metadataPrefix}.`),
    )
    const field = findField(schema, path)
    if (written !== undefined || (replace && field !== undefined && isComputed(field))) {
      throw invalidInput(
        `the metadata ${written ?? metadataPrefix} of the column ${quoteForMessage(path)} belongs to its definition ` +
          'as a computed column, which cannot be changed; drop and add the column',
      )
    }
  }
}

/** Returns an Arrow IPC file whose first field has the type of the expression. */
async function evaluateSchema(
  table: NativeTable,
  names: readonly string[],
  expression: string,
): Promise<Uint8Array> {
  const sql = parenthesizeExpression(expression)
  const volatile = findVolatileFunction(expression, names)
  if (volatile !== undefined) {
    throw invalidInput(
      `the function ${volatile} has another value in every backfill; expected an expression of columns`,
    )
  }
  const query = table.query()
  // The engine refuses to plan constants alone.
  const [anyColumn = ''] = names
  query.select([
    ['value', sql],
    ['column', `\`${anyColumn.replaceAll('`', '``')}\``],
  ])
  return await query.outputSchema()
}

function isComputed({ metadata }: ArrowField): boolean {
  return kindKey in metadata
}

function readInputs({ metadata }: ArrowField): readonly unknown[] {
  try {
    const inputs: unknown = JSON.parse(metadata[inputsKey] ?? '[]')
    return Array.isArray(inputs) ? inputs : []
  } catch {
    return []
  }
}

/** Throws InvalidInput (not 404: see native-errors.ts) for a column that is missing or has no expression. */
export function requireComputedColumn(schema: ArrowSchema, name: string): ComputedColumn {
  const field = schema.fields.find((candidate) => candidate.name === name)
  if (field === undefined) throw invalidInput(`the table has no column ${quoteForMessage(name)}`)
  const expression = field.metadata[expressionKey]
  if (field.metadata[kindKey] !== 'sql' || expression === undefined) {
    throw invalidInput(
      `the column ${quoteForMessage(name)} has no SQL expression; expected one added with the member computed`,
    )
  }
  return { name, expression }
}

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
function buildSchemaFile(fields: readonly NewField[]): Buffer {
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

/** The number of a column's first node in each record batch, and its field. */
type ColumnNode = readonly [node: number, field: ArrowField]

/**
 * Returns the columns of a complete Arrow IPC stream that have a value other than null, by the counts in the headers of
 * its record batches. Throws InvalidInput for a malformed stream.
 */
function findColumnsWithValues(stream: Uint8Array): ReadonlySet<string> {
  const found = new Set<string>()
  let columns: readonly ColumnNode[] = []
  for (const { kind, header, bytes, metadata } of readFrames(stream)) {
    readWithin(bytes.byteOffset - stream.byteOffset, () => {
      if (kind === 'schema') columns = numberNodes(readSchema(header, metadata.length).fields)
      if (kind !== 'batch') return
      for (const [index, { name, type }] of columns) {
        const node = header.nodes(index)
        if (type.id !== Type.Null && node !== null && node.nullCount() < node.length()) found.add(name)
      }
    })
  }
  return found
}

/** Nodes are in depth-first order of the fields. */
function numberNodes(fields: readonly ArrowField[]): ColumnNode[] {
  let next = 0
  return fields.map((field) => {
    const first = next
    next += countNodes(field)
    return [first, field]
  })
}

/** The children of a dictionary column are in its dictionary. */
function countNodes({ children, indexType }: ArrowField): number {
  if (indexType !== undefined) return 1
  return children.reduce((count, child) => count + countNodes(child), 1)
}
