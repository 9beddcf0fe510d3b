import type * as native from '@lancedb/lancedb/native'
import { tableFromIPC, type Uint64 } from 'apache-arrow'
import { Type } from 'apache-arrow/fb/type'
import type { TableQuery } from '../../schemas/query.ts'
import type { ArrowField, ArrowSchema } from 'catalog-gateway/arrow'
import { joinFiles } from '../arrow/arrow-file.ts'
import { readFileFrames, readFileSchema } from '../arrow/arrow-frames.ts'
import { parenthesizeExpression } from '../sql/expressions.ts'
import { isSearch, maxUint32, toNativeQuery, selectColumns } from './native-query.ts'

type Batches = AsyncGenerator<Buffer, void>

/** Reads that many rows, behind those that were read before; fewer only at the end. */
type ReadWindow = (rows: number, rowsPerBatch: number) => Batches

const kibibyte = 1024
/** Bounds memory: without windows the engine holds whole pages of a column, which may be as large as an upload. */
const windowBytes = 4096 * kibibyte
const batchBytes = 256 * kibibyte
const maxRowsPerWindow = 65_536
const maxRowsPerBatch = 1024
/** How many times as many rows as the one before a window may have: they may be larger. */
const maxWindowGrowth = 4
/** Few enough rows to fit into memory at any size; they serve to estimate the row size. */
const sampleRows = 16
/** For what is read at once: several batches are in memory, and their rows may be large. */
const streamedRowsPerBatch = 256
const idsPerBatch = 8192
/** Smaller rows are read faster at once than by their ids. */
const minBytesOfWideRows = 16 * kibibyte

/**
 * Resolves with one Arrow IPC file once its schema and the first rows are known. Memory is bounded by some MiB, or by some
 * hundred rows where these are much larger than the rows before them; but an order, a search and a filter hold the values
 * that they need.
 */
export async function runQuery(
  table: native.Table,
  requested: TableQuery,
): Promise<AsyncGenerator<Uint8Array>> {
  const query = await omitNeedlessLimit(table, requested)
  const result = await start(table, query)
  const columns = castDictionaryColumns(readFileSchema(result.first), query)
  const { first, rest } = columns ? await start(table, { ...query, columns }) : result
  return joinFiles(first, rest)
}

/** `first` has the first batch, or only the schema. */
async function start(table: native.Table, query: TableQuery) {
  // The engine treats 0 as an error or as all.
  const batches = query.k === 0 ? noBatches() : readBatches(table, query)
  const { value: first } = await batches.next()
  return { first: first ?? (await toNativeQuery(table, query).outputSchema()), rest: batches }
}

async function* noBatches(): Batches {}

function read(table: native.Table, query: TableQuery, rowsPerBatch: number): Batches {
  return execute(toNativeQuery(table, query), rowsPerBatch)
}

async function* execute(query: Pick<native.Query, 'execute'>, rowsPerBatch: number): Batches {
  const batches = await query.execute(rowsPerBatch)
  for (let batch = await batches.next(); batch !== null; batch = await batches.next()) yield batch
}

/**
 * Removes a limit of a sorted scan that the table cannot exceed: with a limit, the engine keeps the first rows in a heap,
 * which takes seven times as long for a million rows as sorting them all, and twice the memory.
 */
async function omitNeedlessLimit(table: native.Table, query: TableQuery): Promise<TableQuery> {
  if (isSearch(query) || !query.order_by?.length || !query.k) return query
  return query.k >= (await table.countRows(null)) ? { ...query, k: undefined } : query
}

function readBatches(table: native.Table, query: TableQuery): Batches {
  if (isSearch(query) || query.order_by?.length) return read(table, query, streamedRowsPerBatch)
  if (!query.filter) return readRange(table, query)
  const isSample = query.k !== undefined && query.k <= sampleRows
  return isSample ? read(table, query, sampleRows) : readFiltered(table, query)
}

/** The engine finds the start of a range without reading rows. */
function readRange(table: native.Table, query: TableQuery): Batches {
  let offset = query.offset ?? 0
  let remaining = query.k ?? Infinity
  return readWindows(async function* (windowRows, rowsPerBatch) {
    // The engine's 32-bit numbers end here: read the rest in one range.
    const rows = offset + windowRows > maxUint32 ? remaining : Math.min(windowRows, remaining)
    if (rows === 0) return
    for await (const batch of read(table, { ...query, k: rows, offset }, rowsPerBatch)) {
      offset += countRows(batch)
      remaining -= countRows(batch)
      yield batch
    }
  })
}

/** Reads small rows at once; where they become wide, their ids, and then the rows of these in windows. */
async function* readFiltered(table: native.Table, query: TableQuery): Batches {
  let rowsRead = 0
  let isWide = false
  const sample = { ...query, filter: undefined, offset: undefined, k: sampleRows }
  for await (const batch of read(table, sample, sampleRows)) isWide ||= hasWideRows(batch)
  if (!isWide) {
    for await (const batch of read(table, query, streamedRowsPerBatch)) {
      rowsRead += countRows(batch)
      yield batch
      isWide = hasWideRows(batch)
      if (isWide) break
    }
  }
  const remaining = query.k === undefined ? Infinity : query.k - rowsRead
  if (isWide && remaining > 0) yield* readByIds(table, query, rowsRead, remaining)
}

function readByIds(table: native.Table, query: TableQuery, skipped: number, remaining: number): Batches {
  const k = remaining === Infinity ? undefined : remaining
  const rest = { ...query, k, offset: (query.offset ?? 0) + skipped }
  const batches = read(table, { ...rest, columns: { names: [] }, with_row_id: true }, idsPerBatch)
  let ids: bigint[] = []
  return readWindows(async function* (rows, rowsPerBatch) {
    while (ids.length < rows) {
      const { value: batch } = await batches.next()
      if (batch === undefined) break
      ids = ids.concat(...(tableFromIPC<{ _rowid: Uint64 }>(batch).getChild('_rowid')?.toArray() ?? []))
    }
    if (ids.length === 0) return
    const taken = table.takeRowIds(ids.slice(0, rows))
    if (query.with_row_id) taken.withRowId()
    selectColumns(taken, query)
    for await (const batch of execute(taken, rowsPerBatch)) {
      ids = ids.slice(countRows(batch))
      yield batch
    }
  })
}

/** Sizes each window by the rows of the one before, and ends one early whose rows are much larger. */
async function* readWindows(readWindow: ReadWindow): Batches {
  let windowRows = sampleRows
  let rowsPerBatch = sampleRows
  for (;;) {
    let rows = 0
    let bytes = 0
    for await (const batch of readWindow(windowRows, rowsPerBatch)) {
      rows += countRows(batch)
      bytes += batch.length
      yield batch
      if (bytes > 2 * windowBytes) break
    }
    if (rows === 0 || (rows < windowRows && bytes <= 2 * windowBytes)) return
    const fit = (limit: number): number => Math.max(1, Math.floor((limit * rows) / bytes))
    windowRows = Math.min(fit(windowBytes), maxRowsPerWindow, rows * maxWindowGrowth)
    rowsPerBatch = Math.min(fit(batchBytes), maxRowsPerBatch)
  }
}

function countRows(batch: Buffer): number {
  let rows = 0
  for (const { kind, header } of readFileFrames(batch)) if (kind === 'batch') rows += Number(header.length())
  return rows
}

function hasWideRows(batch: Buffer): boolean {
  return batch.length > countRows(batch) * minBytesOfWideRows
}

/** Columns that the engine adds to results. */
const addedColumns = new Set(['_rowid', '_distance', '_score', '_relevance_score', 'query_index'])
const castTypes = new Set([Type.Utf8, Type.LargeUtf8, Type.Binary, Type.LargeBinary])

/** The engine has one dictionary per part of a table, an Arrow file only one. Undefined if there is nothing to cast. */
function castDictionaryColumns(response: ArrowSchema, query: TableQuery): TableQuery['columns'] {
  const columns = response.fields.filter((field) => !addedColumns.has(field.name))
  // A name with a backtick cannot be quoted.
  if (!columns.some(isCast) || columns.some((field) => field.name.includes('`'))) return undefined
  const expressions = columns.map((field): [alias: string, expression: string] => {
    const expression = getColumnExpression(field.name, query)
    return [field.name, isCast(field) ? `arrow_cast(${expression}, '${Type[field.type.id]}')` : expression]
  })
  return { expressions }
}

function isCast({ indexType, type }: ArrowField): boolean {
  return indexType !== undefined && castTypes.has(type.id)
}

function getColumnExpression(name: string, { columns }: TableQuery): string {
  const requested =
    columns && 'expressions' in columns ? columns.expressions.find(([alias]) => alias === name) : undefined
  return requested ? parenthesizeExpression(requested[1]) : `\`${name}\``
}
