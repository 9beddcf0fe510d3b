import type * as native from '@lancedb/lancedb/native'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { columnName } from '../../schemas/columns.ts'
import { type RequestOf } from '../../schemas/operation-schemas.ts'
import { type ArrowSchema, readSchemaStream } from 'catalog-gateway/arrow'
import { streamToFile } from '../arrow/arrow-file.ts'
import { malformedArrowError, readFileSchema } from '../arrow/arrow-frames.ts'
import { type TablePoint, openTable, type EngineContext, changeTable } from '../native/open-table.ts'
import { assertStorable, findField } from '../schema/fields.ts'
import { toLanceType } from '../schema/schema-json.ts'
import { parenthesizeCondition, parenthesizeExpression } from '../sql/expressions.ts'
import { buildComputedColumns, requireComputedColumn, type ComputedColumn } from './computed-columns.ts'

type Alteration = RequestOf<'AlterTableAlterColumns'>['alterations'][number]
type FieldUpdate = RequestOf<'UpdateFieldMetadata'>['updates'][number]

export interface BackfillResult {
  readonly rows: number
  /** Rows that the condition does not select. */
  readonly remaining: number
  /** The version that was read, and the one that was written. */
  readonly sourceVersion: number
  readonly version: number
}

/** Schema changes of a table. Each creates a version. */
export function openColumns(context: EngineContext) {
  const change = async <Result>(point: TablePoint, work: (table: native.Table) => Promise<Result>) =>
    await changeTable(context, point, work)
  return {
    /** Adds columns, each with the values of a SQL expression over existing columns. */
    add: (point: TablePoint, columns: readonly ComputedColumn[]): Promise<number> =>
      change(point, async (table) => {
        const added = columns.map(({ name, expression }) => ({
          name,
          valueSql: parenthesizeExpression(expression),
        }))
        return (await table.addColumns(added)).version
      }),
    /** Adds the columns of a complete Arrow IPC stream of a schema without rows. Their values are null. */
    addNull: (point: TablePoint, schema: Uint8Array): Promise<number> =>
      change(point, (table) => addNullColumns(context, table, schema)),
    /** Adds columns that are null until a backfill computes their expressions. */
    addComputed: (point: TablePoint, columns: readonly ComputedColumn[]): Promise<number> =>
      change(point, async (table) => {
        const schema = readFileSchema(await table.schema())
        assertNew(schema, columns)
        const file = await buildComputedColumns(table, schema, columns)
        return (await table.addColumnsWithSchema(file)).version
      }),
    alter: (point: TablePoint, alterations: readonly Alteration[]): Promise<number> =>
      change(point, async (table) => (await table.alterColumns(alterations.map(toNative))).version),
    drop: (point: TablePoint, columns: readonly string[]): Promise<number> =>
      change(point, async (table) => (await table.dropColumns([...columns])).version),
    /**
     * Checks the parameters of `backfill` for the newest version, and returns that version. Throws InvalidInput for a
     * column that is missing or has no expression, and for an invalid condition.
     */
    checkBackfill: async (point: TablePoint, column: string, where: string | undefined): Promise<number> =>
      checkBackfill(await openTable(context, point), column, where),
    /** Computes a computed column in the rows that a condition selects, or in all rows, by one commit. */
    backfill: (point: TablePoint, column: string, where: string | undefined): Promise<BackfillResult> =>
      change(point, (table) => backfill(table, column, where)),
    /** Changes the metadata of fields. Returns the resulting metadata by field path. */
    updateMetadata: (point: TablePoint, updates: readonly FieldUpdate[]) =>
      change(point, (table) => updateMetadata(context, point, table, updates)),
  }
}

/** The engine would accept a column that exists. */
function assertNew({ fields }: ArrowSchema, added: readonly { readonly name: string }[]): void {
  const existing = fields.find((field) => added.some(({ name }) => name === field.name))
  if (existing === undefined) return
  const message = `the column ${quoteForMessage(existing.name)} already exists`
  throw new CatalogError('TableSchemaValidationError', message)
}

/** The engine would panic later on the name of a system column. */
async function addNullColumns(
  { decodedUploadBytes }: EngineContext,
  table: native.Table,
  stream: Uint8Array,
): Promise<number> {
  const schema = readSchemaStream(stream)
  if (schema === undefined) throw malformedArrowError('it is not a schema without rows')
  if (schema.fields.length === 0) throw invalidInput('the schema has no columns; expected at least one')
  for (const { name } of schema.fields) {
    const problem = columnName.safeParse(name).error?.issues[0]
    if (problem !== undefined)
      throw invalidInput(`invalid name ${quoteForMessage(name)} of a column: ${problem.message}`)
  }
  assertNew(readFileSchema(await table.schema()), schema.fields)
  assertStorable(schema)
  const { file } = streamToFile(stream, decodedUploadBytes)
  return (await table.addColumnsWithSchema(file)).version
}

function toNative({ path, rename, nullable, data_type: dataType }: Alteration): native.ColumnAlteration {
  return {
    path,
    ...(rename !== undefined && { rename }),
    ...(nullable !== undefined && { nullable }),
    ...(dataType !== undefined && { dataType: JSON.stringify(toLanceType(dataType)) }),
  }
}

async function checkBackfill(
  table: native.Table,
  column: string,
  where: string | undefined,
): Promise<number> {
  requireComputedColumn(readFileSchema(await table.schema()), column)
  const condition = parenthesizeCondition(where)
  if (condition !== null) {
    const query = table.query()
    query.onlyIf(condition)
    await query.explainPlan(false)
  }
  return await table.version()
}

async function backfill(
  table: native.Table,
  column: string,
  where: string | undefined,
): Promise<BackfillResult> {
  const { expression } = requireComputedColumn(readFileSchema(await table.schema()), column)
  const [sourceVersion, total] = await Promise.all([table.version(), table.countRows(null)])
  const { rowsUpdated, version } = await table.update(parenthesizeCondition(where), [
    [column, parenthesizeExpression(expression)],
  ])
  return { rows: rowsUpdated, remaining: Math.max(0, total - rowsUpdated), sourceVersion, version }
}

/** The result is read from the created version, because another version may follow at once. */
async function updateMetadata(
  context: EngineContext,
  point: TablePoint,
  table: native.Table,
  updates: readonly FieldUpdate[],
) {
  const { version } = await table.updateFieldMetadata(
    updates.map(({ path, metadata, replace }) => ({ path, metadata, replace: replace ?? false })),
  )
  const schema = readFileSchema(await (await openTable(context, { ...point, version })).schema())
  const fields = updates.map(({ path }) => [path, { ...findField(schema, path)?.metadata }] as const)
  return { version, fields: Object.fromEntries(fields) }
}
