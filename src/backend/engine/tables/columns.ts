import type * as native from '@lancedb/lancedb/native'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { columnName } from '../../schemas/columns.ts'
import { type RequestOf } from '../../schemas/operation-schemas.ts'
import { type ArrowField, type ArrowSchema, readSchemaStream } from 'catalog-gateway/arrow'
import { streamToFile } from '../arrow/arrow-file.ts'
import { malformedArrowError, readFileSchema } from '../arrow/arrow-frames.ts'
import { type TablePoint, openTable, type EngineContext, changeTable } from '../native/open-table.ts'
import { toLanceType } from '../schema/schema-json.ts'
import { parenthesizeCondition, parenthesizeExpression } from '../sql/expressions.ts'
import { buildComputedColumns, requireComputedColumn, type ComputedColumn } from './computed-columns.ts'
import { assertStorable } from './rows.ts'

type Alteration = RequestOf<'AlterTableAlterColumns'>['alterations'][number]
type FieldUpdate = RequestOf<'UpdateFieldMetadata'>['updates'][number]

/** Schema changes of a table. Each creates a version. */
export function openColumns(context: EngineContext) {
  return {
    /** Adds columns, each with the values of a SQL expression over existing columns. */
    add: (point: TablePoint, columns: readonly ComputedColumn[]) =>
      changeTable(context, point, async (table) => {
        const added = columns.map(({ name, expression }) => ({
          name,
          valueSql: parenthesizeExpression(expression),
        }))
        return await table.addColumns(added)
      }),
    /** Adds the columns of a complete Arrow IPC stream of a schema without rows. Their values are null. */
    addNull: (point: TablePoint, upload: Uint8Array) =>
      changeTable(context, point, async (table) => {
        const added = readNewColumns(upload)
        assertNew(readFileSchema(await table.schema()), added.fields)
        assertStorable(added)
        return await table.addColumnsWithSchema(streamToFile(upload, context.decodedUploadBytes).file)
      }),
    /** Adds columns that are null until a backfill computes their expressions. */
    addComputed: (point: TablePoint, columns: readonly ComputedColumn[]) =>
      changeTable(context, point, async (table) => {
        const schema = readFileSchema(await table.schema())
        assertNew(schema, columns)
        return await table.addColumnsWithSchema(await buildComputedColumns(table, schema, columns))
      }),
    alter: (point: TablePoint, alterations: readonly Alteration[]) =>
      changeTable(context, point, async (table) => table.alterColumns(alterations.map(toNative))),
    drop: (point: TablePoint, columns: readonly string[]) =>
      changeTable(context, point, async (table) => table.dropColumns([...columns])),
    /**
     * Checks the parameters of `backfill` for the newest version, and returns that version. Throws InvalidInput for a
     * column that is missing or has no expression, and for an invalid condition.
     */
    async checkBackfill(point: TablePoint, column: string, where: string | undefined): Promise<number> {
      const table = await openTable(context, point)
      requireComputedColumn(readFileSchema(await table.schema()), column)
      const condition = parenthesizeCondition(where)
      if (condition !== null) {
        const query = table.query()
        query.onlyIf(condition)
        await query.explainPlan(false)
      }
      return await table.version()
    },
    /** Computes a computed column in the rows that a condition selects, or in all rows, by one commit. */
    backfill: (point: TablePoint, column: string, where: string | undefined) =>
      changeTable(context, point, async (table) => {
        const { expression } = requireComputedColumn(readFileSchema(await table.schema()), column)
        const [sourceVersion, totalRows] = await Promise.all([table.version(), table.countRows(null)])
        const values: [string, string][] = [[column, parenthesizeExpression(expression)]]
        const updated = await table.update(parenthesizeCondition(where), values)
        return { ...updated, sourceVersion, totalRows }
      }),
    /** Changes the metadata of fields. Returns the resulting metadata by field path. */
    updateMetadata: (point: TablePoint, updates: readonly FieldUpdate[]) =>
      changeTable(context, point, async (table) => {
        const { version } = await table.updateFieldMetadata(
          updates.map(({ path, metadata, replace }) => ({ path, metadata, replace: replace ?? false })),
        )
        // The result is read from the created version, because another version may follow at once.
        const schema = readFileSchema(await (await openTable(context, { ...point, version })).schema())
        const fields = updates.map(({ path }) => [path, { ...findField(schema, path)?.metadata }] as const)
        return { version, fields: Object.fromEntries(fields) }
      }),
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
function readNewColumns(stream: Uint8Array): ArrowSchema {
  const schema = readSchemaStream(stream)
  if (schema === undefined) throw malformedArrowError('it is not a schema without rows')
  if (schema.fields.length === 0) throw invalidInput('the schema has no columns; expected at least one')
  for (const { name } of schema.fields) {
    const problem = columnName.safeParse(name).error?.issues[0]
    if (problem !== undefined)
      throw invalidInput(`invalid name ${quoteForMessage(name)} of a column: ${problem.message}`)
  }
  return schema
}

function toNative({ path, rename, nullable, data_type: dataType }: Alteration): native.ColumnAlteration {
  return {
    path,
    ...(rename !== undefined && { rename }),
    ...(nullable !== undefined && { nullable }),
    ...(dataType !== undefined && { dataType: JSON.stringify(toLanceType(dataType)) }),
  }
}

/** A name, or a name in backticks with embedded backticks doubled. */
const segment = /(?:`((?:[^`]|``)*)`|([^.`]+))(?:\.|$)/gy

/** `path` has the names from the column down, joined by `.`; a name that contains a dot is in backticks. */
function findField(schema: ArrowSchema, path: string): ArrowField | undefined {
  let fields = schema.fields
  let found: ArrowField | undefined
  for (const [, quoted, plain] of path.matchAll(segment)) {
    const name = quoted?.replaceAll('``', '`') ?? plain
    found = fields.find((field) => field.name === name)
    fields = found?.children ?? []
  }
  return found
}
