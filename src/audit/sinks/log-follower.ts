import { join } from 'node:path'
import {
  formatRecordId,
  type DeliveredRecord,
  type RecordReference,
  type Undelivered,
} from '../formats/delivered-record.ts'
import { formatRecord } from '../formats/format-record.ts'
import { type RecordFormat } from '../../config/audit/record-formats.ts'
import { createContextTracker, type ContextTracker, type RecordOrigin } from '../formats/record-context.ts'
import { parseStoredRecord, type StoredRecord } from '../storage/read-audit-log.ts'
import { compareByAge, listChains } from '../storage/segment-names.ts'
import { hasErrorCode } from '../../lib/fs/system-error.ts'
import type { Cursor } from './cursor.ts'
import { readSegmentLines, type SegmentLine } from '../storage/read-segment-lines.ts'
import type { Delivery } from './sink.ts'

/** End of the durable part of the log; data after it may be truncated, and must not be delivered. */
export interface DurableEnd {
  readonly file: string
  readonly length: number
  readonly chain: string
  readonly seq: number
}

interface ReadBounds {
  readonly records: number
  /** Approximate, but at least one record. */
  readonly bytes: number
}

interface ReadBatch {
  readonly deliveries: readonly Delivery[]
  /** Undefined only if there is no log yet. */
  readonly cursor: Cursor | undefined
}

/** Reads a growing log from a cursor. Repeated reads from the same cursor give the same result. */
export interface LogFollower {
  /** Rejects if an existing file cannot be read. */
  readonly read: (cursor: Cursor | undefined, bounds: ReadBounds) => Promise<ReadBatch>
  /** Creates the delivery that replaces a refused record. Undefined if the refused delivery reports a gap itself. */
  readonly reportRefused: (refused: Delivery) => Delivery | undefined
}

const unknownOrigin: RecordOrigin = { gateway: '', software: '' }

/** Delivers removed records and invalid lines as `undelivered`, so that receivers detect the loss. */
export async function createLogFollower(
  folder: string,
  format: RecordFormat,
  durable: () => DurableEnd,
  cursor: Cursor | undefined,
): Promise<LogFollower> {
  const tracker = createContextTracker(cursor?.origin)
  if (cursor) await restoreContext(folder, tracker, cursor)
  return {
    async read(cursor, bounds) {
      const end = durable()
      const reading = new BatchReader(tracker, format, cursor)
      let bytes = bounds.bytes
      for (let file = cursor?.file ?? (await findNextSegment(folder, '')); file !== undefined;) {
        const to = file === end.file ? end.length : Infinity
        const lines = await readLinesIfPresent(folder, file, { from: reading.getOffset(file), to, bytes })
        for (const line of lines.slice(0, bounds.records - reading.deliveries.length)) {
          reading.add(file, line)
          bytes -= line.end - line.offset
        }
        if (bytes <= 0 || reading.deliveries.length >= bounds.records) break
        if (lines.length > 0) continue
        if (file === end.file) break
        const next = await findNextSegment(folder, file)
        if (next !== undefined) reading.startSegment(next)
        file = next
      }
      return { deliveries: reading.deliveries, cursor: reading.cursor }
    },
    reportRefused({ record, key }) {
      if (record.kind === 'undelivered') return undefined
      const { chain, seq, time } = record
      const report = { ...createUndelivered(time), refused: { chain, seq } }
      const text = formatRecord(report, format, tracker.track(report))
      return { id: formatRecordId(report), key, text, record: report }
    },
  }
}

class BatchReader {
  readonly deliveries: Delivery[] = []
  cursor: Cursor | undefined
  readonly #tracker: ContextTracker
  readonly #format: RecordFormat

  constructor(tracker: ContextTracker, format: RecordFormat, cursor: Cursor | undefined) {
    this.#tracker = tracker
    this.#format = format
    this.cursor = cursor
  }

  getOffset(file: string): number {
    return this.cursor?.file === file ? this.cursor.offset : 0
  }

  startSegment(file: string): void {
    this.cursor = { v: 1, origin: unknownOrigin, ...this.cursor, file, offset: 0 }
  }

  add(file: string, line: SegmentLine): void {
    const record = parseStoredRecord(line.text)
    const { last } = this.cursor ?? {}
    const after = last && { after: last }
    if (record === undefined) {
      const { offset, end } = line
      const missing = { file, offset, bytes: end - offset }
      this.#deliver({ ...createUndelivered(new Date().toISOString()), ...after, line: missing })
      // The invalid record at this position is already reported and must not be reported as missing again.
      const skipped = last && { chain: last.chain, seq: last.seq + 1 }
      this.#moveCursor(file, end, skipped, this.cursor?.origin)
      return
    }
    const { chain, seq } = record
    if (!isNextRecord(record, last))
      this.#deliver({ ...createUndelivered(record.time), ...after, before: { chain, seq } })
    this.#moveCursor(file, line.end, { chain, seq }, this.#deliver(record))
  }

  #deliver(record: DeliveredRecord): RecordOrigin {
    const context = this.#tracker.track(record)
    const text = formatRecord(record, this.#format, context)
    this.deliveries.push({ id: formatRecordId(record), key: getPartitionKey(record), text, record })
    return context.origin
  }

  #moveCursor(file: string, offset: number, last: RecordReference | undefined, origin = unknownOrigin): void {
    this.cursor = { v: 1, file, offset, ...(last && { last }), origin }
  }
}

function createUndelivered(time: string): Pick<Undelivered, 'v' | 'kind' | 'time'> {
  return { v: 1, kind: 'undelivered', time }
}

function isNextRecord(record: StoredRecord, last: RecordReference | undefined): boolean {
  if (record.chain === last?.chain) return record.seq === last.seq + 1
  if (record.kind !== 'start' || record.seq !== 0) return false
  return record.previous?.chain === last?.chain && record.previous?.seq === last?.seq
}

/** Records of a table share one key across all chains; records without a table have the key of their chain. */
function getPartitionKey(record: DeliveredRecord): string {
  if (record.kind === 'undelivered') return record.before?.chain ?? ''
  const table = record.tables?.[0]
  return table ? JSON.stringify(table.id) : record.chain
}

async function readLinesIfPresent(
  folder: string,
  file: string,
  part: Parameters<typeof readSegmentLines>[1],
): Promise<SegmentLine[]> {
  try {
    return await readSegmentLines(join(folder, file), part)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return []
    throw error
  }
}

/** Returns the oldest segment newer than `file`, which may no longer exist. */
async function findNextSegment(folder: string, file: string): Promise<string | undefined> {
  const segments = (await listChains(folder)).flatMap(({ segments }) => segments)
  const index = segments.indexOf(file)
  return index === -1 ? segments.find((each) => compareByAge(each, file) > 0) : segments[index + 1]
}

/** Passes the records before the cursor in its segment to the tracker: intents whose outcomes follow. */
async function restoreContext(
  folder: string,
  tracker: ContextTracker,
  { file, offset }: Cursor,
): Promise<void> {
  for (let from = 0; from < offset;) {
    const lines = await readLinesIfPresent(folder, file, { from, to: offset, bytes: 1_048_576 })
    for (const { text } of lines) {
      const record = parseStoredRecord(text)
      if (record) tracker.track(record)
    }
    const end = lines.at(-1)?.end
    if (end === undefined) return
    from = end
  }
}
