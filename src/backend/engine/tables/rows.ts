import type * as native from '@lancedb/lancedb/native'
import { Type } from 'apache-arrow/fb/type'
import type { ArrowField, ArrowSchema } from 'catalog-gateway/arrow'
import { CatalogError, quoteForMessage } from 'catalog-gateway/catalog-api'
import type { TableQuery } from '../../schemas/query.ts'
import type { MergeInsert } from '../../schemas/row-changes.ts'
import { streamToFile, type UploadedFile } from '../arrow/arrow-file.ts'
import { readFileSchema } from '../arrow/arrow-frames.ts'
import { omitMainBranch } from '../manifest/manifest.ts'
import { withUploadErrors } from '../native/native-errors.ts'
import {
  changeTable,
  connect,
  type EngineContext,
  openTable,
  retryConflicts,
  splitLocation,
  type TablePoint,
} from '../native/open-table.ts'
import { toNativeQuery } from '../query/native-query.ts'
import { runQuery } from '../query/run-query.ts'
import { parenthesizeCondition, parenthesizeExpression } from '../sql/expressions.ts'

/** The engine's number has 32 bits and wraps around: 49 days count as no limit. */
const maxTimeoutMs = 0xffffffff

/** Reads and writes of rows. Each write creates a version, even if no row changes. */
export function openRows(context: EngineContext) {
  const readUpload = (upload: Uint8Array) => streamToFile(upload, context.decodedUploadBytes)
  const prepareQuery = async (point: TablePoint, query: TableQuery) =>
    toNativeQuery(await openTable(context, point), query)
  return {
    /** Creates a table from a complete Arrow IPC stream; `overwrite` adds a version to an existing table. */
    create: (location: string, upload: Uint8Array, mode: 'create' | 'overwrite') =>
      withUploadErrors(async () => {
        const { file, rows } = readUpload(upload)
        assertStorable(readFileSchema(file))
        const table = await createTable(context, location, file, mode)
        return { version: await table.version(), rows }
      }),
    /** Appends the rows of a complete Arrow IPC stream, or replaces all rows by them. */
    insert: (location: string, upload: Uint8Array, mode: 'append' | 'overwrite', branch?: string) =>
      withUploadErrors(async () => {
        const uploaded = readUpload(upload)
        const write = mode === 'append' ? appendRows : replaceRows
        return { version: await write(context, { location, branch }, uploaded), rows: uploaded.rows }
      }),
    /** Merges the rows of a complete Arrow IPC stream by their key columns. */
    merge: (point: TablePoint, upload: Uint8Array, merge: MergeInsert) =>
      withUploadErrors(async () => {
        const { file } = readUpload(upload)
        return await changeTable(context, point, async (table) => toNativeMerge(table, merge).execute(file))
      }),
    /** Sets columns to SQL expressions in the rows that a predicate selects, or in all rows. */
    update: (
      point: TablePoint,
      predicate: string | undefined,
      updates: readonly (readonly [column: string, expression: string])[],
    ) =>
      changeTable(context, point, async (table) => {
        const columns = updates.map(([column, expression]): [string, string] => [
          column,
          parenthesizeExpression(expression),
        ])
        return await table.update(parenthesizeCondition(predicate), columns)
      }),
    delete: (point: TablePoint, predicate: string) =>
      changeTable(context, point, async (table) => table.delete(parenthesizeExpression(predicate))),
    count: async (point: TablePoint, predicate?: string) =>
      (await openTable(context, point)).countRows(parenthesizeCondition(predicate)),
    /**
     * Resolves once the schema and the first rows are known, so a failing query still gets an error response; then yields
     * the bytes of one Arrow IPC file with backpressure. `return()` of the iterator cancels the query.
     */
    query: async (point: TablePoint, query: TableQuery) =>
      await runQuery(await openTable(context, point), query),
    /** The plan of a query without paths of this machine. The point overrides any version or branch in the query. */
    explain: async (point: TablePoint, query: TableQuery, verbose: boolean) =>
      removePaths(context, await (await prepareQuery(point, query)).explainPlan(verbose), point.location),
    /** Like `explain`, with what running the query took. */
    analyze: async (point: TablePoint, query: TableQuery) =>
      removePaths(context, await (await prepareQuery(point, query)).analyzePlan(), point.location),
  }
}

async function createTable(
  context: EngineContext,
  location: string,
  file: Buffer,
  mode: 'create' | 'overwrite',
): Promise<native.Table> {
  const { folder, name } = splitLocation(location)
  return await (await connect(context, folder)).createTable(name, file, mode, [])
}

/** The engine cannot append zero rows; the table keeps its version. */
async function appendRows(context: EngineContext, point: TablePoint, { file, batches }: UploadedFile) {
  return await context.appends.runShared(point.location, async () => {
    const table = await openTable(context, point)
    if (batches === 0) return table.version()
    return (await table.add(file, 'append')).version
  })
}

/** Concurrent overwrites conflict in the engine, although either order is correct. */
async function replaceRows(context: EngineContext, point: TablePoint, { file, batches }: UploadedFile) {
  assertStorable(readFileSchema(file))
  return await retryConflicts(async () => {
    if (batches > 0) return (await (await openTable(context, point)).add(file, 'overwrite')).version
    if (omitMainBranch(point.branch) !== undefined) {
      throw new CatalogError('Unsupported', 'a branch cannot be overwritten with a stream without batches')
    }
    return await (await createTable(context, point.location, file, 'overwrite')).version()
  })
}

/**
 * Throws TableSchemaValidationError (400) for a column that the engine would accept in a new table, but could not read
 * later: one without a name or with a backtick in it, and binary values of a fixed size below 1.
 */
export function assertStorable({ fields }: ArrowSchema): void {
  for (const field of fields) {
    if (field.name === '' || field.name.includes('`'))
      throw columnError(field.name, 'expected a name that is not empty and contains no backtick')
    assertSizes(field, field.name)
  }
}

function assertSizes({ type, children }: ArrowField, path: string): void {
  if (type.id === Type.FixedSizeBinary && type.length < 1)
    throw columnError(path, `a fixed_size_binary of size ${type.length}; expected a size of at least 1`)
  for (const child of children) assertSizes(child, `${path}.${child.name}`)
}

function columnError(column: string, problem: string): CatalogError {
  return new CatalogError(
    'TableSchemaValidationError',
    `invalid column ${quoteForMessage(column)}: ${problem}`,
  )
}

function toNativeMerge(table: native.Table, merge: MergeInsert): native.NativeMergeInsertBuilder {
  let builder = table.mergeInsert([...merge.on]).useIndex(merge.use_index)
  if (merge.when_matched_update_all) {
    builder = builder.whenMatchedUpdateAll(requireCondition(merge.when_matched_update_all_filt))
  }
  if (merge.when_not_matched_insert_all) builder = builder.whenNotMatchedInsertAll()
  if (merge.when_not_matched_by_source_delete) {
    builder = builder.whenNotMatchedBySourceDelete(
      requireCondition(merge.when_not_matched_by_source_delete_filt),
    )
  }
  // Unlike the other methods, this one changes the builder.
  if (merge.timeout !== undefined) builder.setTimeout(Math.min(merge.timeout, maxTimeoutMs))
  return builder
}

/** An empty condition is an error, because it does not say whether to select all rows or none. */
function requireCondition(sql: string | undefined): string | null {
  return sql === undefined ? null : parenthesizeExpression(sql)
}

/** Plans spell the location as an object-store key; an unknown spelling is removed completely. */
function removePaths({ storage }: EngineContext, plan: string, location: string): string {
  const key = storage.toKey(location)
  let text = plan
  for (const spelling of [location, encodeURI(location), key, encodeURI(key)])
    text = text.replaceAll(spelling, '<table>')
  return text.replaceAll(/\buri=(?!<table>)[^,\]\n]*/g, 'uri=<path>')
}
