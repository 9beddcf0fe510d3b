import type { TableQuery } from '../../../catalog-api/schemas/query.ts'
import { readFrames } from '../arrow/arrow-frames.ts'
import type { NativeTable, NativeTextQueries } from '../native/native-module.ts'
import { maxUint32, toNativeQuery, isSchemaOnly } from './native-query.ts'
import type { Selection } from './native-query.ts'

/** The rows of a query, batch by batch. */
export interface QueryResult {
  /** The first batch, or a file of the schema alone. */
  readonly first: Buffer
  /** The next batch, each an Arrow IPC file; null when there are no more. */
  readonly next: () => Promise<Buffer | null>
}

type Batches = AsyncGenerator<Buffer, void>
/** Runs the query with some of its members changed. */
type ReadQuery = (changes: Partial<TableQuery>, rowsPerBatch: number) => Batches

const kibibyte = 1024
/**
 * Memory grows by the window that the engine reads, and by the batches that JavaScript has not collected yet. Without
 * windows the engine holds whole pages of a scanned column, and a page may be as large as the upload that wrote it.
 */
const windowBytes = 4096 * kibibyte
const batchBytes = 256 * kibibyte
const maxRowsPerWindow = 65_536
const maxRowsPerBatch = 8192
/** So few rows fit into memory however large they are; they tell how large. */
const sampleRows = 16
/** For searches: their answers have columns of their own, and seldom many rows. */
const searchRowsPerBatch = 1024

/**
 * Runs a query on a table at one version, with `selection` in the place of its columns. However many rows are
 * answered, and however large they are, a bounded part of them is in memory, unless the engine must sort them.
 */
export async function runQuery(
  makers: NativeTextQueries,
  table: NativeTable,
  query: TableQuery,
  selection?: Selection,
): Promise<QueryResult> {
  const prepare = (changes: Partial<TableQuery> = {}) =>
    toNativeQuery(table, makers, { ...query, ...changes }, selection)
  const read: ReadQuery = async function* (changes, rowsPerBatch) {
    const batches = await prepare(changes).execute(rowsPerBatch)
    for (let batch = await batches.next(); batch !== null; batch = await batches.next()) yield batch
  }
  if (!isSchemaOnly(query)) {
    const batches = readBatches(query, read)
    const next = async (): Promise<Buffer | null> => (await batches.next()).value || null
    const first = await next()
    if (first !== null) return { first, next }
  }
  return { first: await prepare().outputSchema(), next: async () => null }
}

function readBatches(query: TableQuery, read: ReadQuery): Batches {
  if (query.vector.length > 0 || query.full_text_query != null) return read({}, searchRowsPerBatch)
  if (!query.filter && !query.order_by?.length) return readWindows(query, read)
  return query.k != null && query.k <= sampleRows ? read({}, sampleRows) : readSampled(read)
}

/**
 * Reads the rows one range after the other, each as large as the rows of the one before suggest. The engine finds
 * the beginning of a range by counting, without reading what lies before it.
 */
async function* readWindows(query: TableQuery, read: ReadQuery): Batches {
  let offset = query.offset ?? 0
  let left = query.k ?? Infinity
  let size: RowsSize = { rows: 0, bytes: 0 }
  while (left > 0) {
    const wanted = size.rows === 0 ? sampleRows : rowsThatFit(windowBytes, size, maxRowsPerWindow)
    // The numbers of the engine end here: the rest of so large a table is read at once.
    const rows = offset + wanted > maxUint32 ? left : Math.min(wanted, left)
    size = yield* measureBatches(read({ k: rows, offset }, rowsPerBatch(size)))
    offset += rows
    left = size.rows < rows ? 0 : left - rows
  }
}

/** A filter or an order makes ranges costly: such a query is read at once, in batches for rows as large as the first. */
async function* readSampled(read: ReadQuery): Batches {
  const sample = read(
    { filter: undefined, order_by: undefined, offset: undefined, k: sampleRows },
    sampleRows,
  )
  const size: RowsSize = { rows: 0, bytes: 0 }
  for await (const batch of sample) addRows(size, batch)
  yield* read({}, rowsPerBatch(size))
}

interface RowsSize {
  rows: number
  bytes: number
}

/** The batches as they are; in the end how large their rows were. */
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

function rowsPerBatch(size: RowsSize): number {
  return size.rows === 0 ? sampleRows : rowsThatFit(batchBytes, size, maxRowsPerBatch)
}

/** How many rows of that size the bytes have room for, at least one. */
function rowsThatFit(bytes: number, size: RowsSize, most: number): number {
  return Math.min(Math.max(1, Math.floor((bytes * size.rows) / size.bytes)), most)
}
