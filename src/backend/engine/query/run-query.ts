import type { TableQuery } from 'catalog-gateway/catalog-api'
import { addToColumn } from '../arrow/add-to-column.ts'
import { readFrames } from '../arrow/arrow-frames.ts'
import type { NativeTable, NativeTextQueries } from '../native/native-module.ts'
import { correctSearch } from './multi-vector-search.ts'
import { maxUint32, toNativeQuery, isSchemaOnly } from './native-query.ts'
import type { Selection } from './native-query.ts'

export interface QueryResult {
  /** The first batch, or a file with only the schema. */
  readonly first: Buffer
  /** The next batch as an Arrow IPC file; null after the last. */
  readonly next: () => Promise<Buffer | null>
}

type Batches = AsyncGenerator<Buffer, void>
/** Runs the query with some members changed. */
type ReadQuery = (changes: Partial<TableQuery>, rowsPerBatch: number) => Batches

const kibibyte = 1024
/** Bounds memory: without windows the engine holds whole pages of a column, which may be as large as an upload. */
const windowBytes = 4096 * kibibyte
const batchBytes = 256 * kibibyte
const maxRowsPerWindow = 65_536
const maxRowsPerBatch = 8192
/** Few enough rows to fit into memory at any size; they serve to estimate the row size. */
const sampleRows = 16
/** For searches: their results have columns of their own and rarely many rows. */
const searchRowsPerBatch = 1024

/** `selection` replaces the columns. Memory is bounded for any number and size of rows, unless they must be sorted. */
export async function runQuery(
  factories: NativeTextQueries,
  table: NativeTable,
  requested: TableQuery,
  selection?: Selection,
): Promise<QueryResult> {
  const limited = await omitNeedlessLimit(table, requested)
  const { query, distanceOffset } = await correctSearch(table, factories, limited)
  const prepare = (changes: Partial<TableQuery> = {}) =>
    toNativeQuery(table, factories, { ...query, ...changes }, selection)
  const read: ReadQuery = async function* (changes, rowsPerBatch) {
    const batches = await prepare(changes).execute(rowsPerBatch)
    for (let batch = await batches.next(); batch !== null; batch = await batches.next()) {
      if (distanceOffset !== 0) addToColumn(batch, '_distance', distanceOffset)
      yield batch
    }
  }
  if (!isSchemaOnly(query)) {
    const batches = readBatches(query, read)
    const next = async (): Promise<Buffer | null> => (await batches.next()).value || null
    const first = await next()
    if (first !== null) return { first, next }
  }
  return { first: await prepare().outputSchema(), next: async () => null }
}

/**
 * Removes a limit of a sorted scan that the table cannot exceed: with a limit, the engine keeps the first rows in a heap,
 * which takes seven times as long for a million rows as sorting them all, and twice the memory.
 */
async function omitNeedlessLimit(table: NativeTable, query: TableQuery): Promise<TableQuery> {
  const isSearch = query.vector.length > 0 || query.full_text_query != null
  if (isSearch || !query.order_by?.length || !query.k) return query
  return query.k >= (await table.countRows(null)) ? { ...query, k: undefined } : query
}

function readBatches(query: TableQuery, read: ReadQuery): Batches {
  if (query.vector.length > 0 || query.full_text_query != null) return read({}, searchRowsPerBatch)
  if (!query.filter && !query.order_by?.length) return readWindows(query, read)
  return query.k != null && query.k <= sampleRows ? read({}, sampleRows) : readSampled(read)
}

/** Sizes each range by the rows of the previous one. The engine finds the start of a range without reading rows. */
async function* readWindows(query: TableQuery, read: ReadQuery): Batches {
  let offset = query.offset ?? 0
  let remaining = query.k ?? Infinity
  let size: RowsSize = { rows: 0, bytes: 0 }
  while (remaining > 0) {
    const windowRows = size.rows === 0 ? sampleRows : countFittingRows(windowBytes, size, maxRowsPerWindow)
    // The engine's 32-bit numbers end here: read the rest in one range.
    const rows = offset + windowRows > maxUint32 ? remaining : Math.min(windowRows, remaining)
    size = yield* measureBatches(read({ k: rows, offset }, computeRowsPerBatch(size)))
    offset += rows
    remaining = size.rows < rows ? 0 : remaining - rows
  }
}

/** A filter or an order makes ranges expensive: read once, in batches sized by the first rows. */
async function* readSampled(read: ReadQuery): Batches {
  const sample = read(
    { filter: undefined, order_by: undefined, offset: undefined, k: sampleRows },
    sampleRows,
  )
  const size: RowsSize = { rows: 0, bytes: 0 }
  for await (const batch of sample) addRows(size, batch)
  yield* read({}, computeRowsPerBatch(size))
}

interface RowsSize {
  rows: number
  bytes: number
}

/** Yields the batches unchanged; returns the size of their rows. */
async function* measureBatches(batches: Batches): AsyncGenerator<Buffer, RowsSize> {
  const size: RowsSize = { rows: 0, bytes: 0 }
  for await (const batch of batches) {
    addRows(size, batch)
    yield batch
  }
  return size
}

function addRows(size: RowsSize, batch: Buffer): void {
  for (const { kind, header } of readFrames(batch)) {
    if (kind === 'batch') size.rows += Number(header.length())
  }
  size.bytes += batch.length
}

function computeRowsPerBatch(size: RowsSize): number {
  return size.rows === 0 ? sampleRows : countFittingRows(batchBytes, size, maxRowsPerBatch)
}

function countFittingRows(bytes: number, size: RowsSize, maxRows: number): number {
  return Math.min(Math.max(1, Math.floor((bytes * size.rows) / size.bytes)), maxRows)
}
