import { join } from 'node:path'
import {
  formatRecordId,
  type DeliveredRecord,
  type RecordReference,
  type Undelivered,
} from '../formats/delivered-record.ts'
import { parseRecord } from '../records/hash-chain.ts'
import { formatRecord } from '../formats/format-record.ts'
import { type RecordFormat } from '../../config/audit/record-formats.ts'
import { createContextTracker, type ContextTracker, type RecordOrigin } from '../formats/record-context.ts'
import type { StoredRecord } from '../storage/read-audit-log.ts'
import { listChains } from '../storage/segment-names.ts'
import { hasErrorCode } from '../../lib/fs/system-error.ts'
import type { Cursor } from './cursor.ts'
import { readSegmentLines, type SegmentLine } from '../storage/read-segment-lines.ts'
import type { Delivery } from './sink.ts'

/** How far the log is durable: what stands behind it may yet be cut off again, and must not be delivered. */
export interface DurableEnd {
  /** The segment that is written. */
  readonly file: string
  readonly length: number
  /** The last durable record. */
  readonly chain: string
  readonly seq: number
}

/** How much is read at once. */
interface ReadBounds {
  readonly records: number
  /** About so many, but always a whole record. */
  readonly bytes: number
}

/** What comes next in the log, and the cursor behind it. */
interface ReadBatch {
  readonly deliveries: readonly Delivery[]
  /** Undefined only where there is no log yet. */
  readonly cursor: Cursor | undefined
}

/** Reads a log that is being written, from a cursor on. Reading again from the same cursor gives the same. */
export interface LogFollower {
  /** Rejects when a file that is there cannot be read. */
  readonly read: (cursor: Cursor | undefined, bounds: ReadBounds) => Promise<ReadBatch>
}

const unknownOrigin: RecordOrigin = { gateway: '', software: '' }

/**
 * A follower of the log in that folder. Records that are missing, as retention removed them before they were read,
 * and lines that are no records, are delivered as `undelivered`: whoever receives them knows.
 */
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
  }
}

/** Collects what is read in one go. */
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
    const record = parseDeliverable(line.text)
    const { last } = this.cursor ?? {}
    const after = last && { after: last }
    if (record === undefined) {
      const { offset, end } = line
      const missing = { file, offset, bytes: end - offset }
      this.#deliver({ ...createUndelivered(new Date().toISOString()), ...after, line: missing })
      // The record that stood there is told of; it is not missed a second time.
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

/** Whether nothing is missing between the two. */
function isNextRecord(record: StoredRecord, last: RecordReference | undefined): boolean {
  if (record.chain === last?.chain) return record.seq === last.seq + 1
  if (record.kind !== 'start' || record.seq !== 0) return false
  return record.previous?.chain === last?.chain && record.previous?.seq === last?.seq
}

/** The records of a table have one key, in every chain; what concerns no table has the key of its chain. */
function getPartitionKey(record: DeliveredRecord): string {
  if (record.kind === 'undelivered') return record.before?.chain ?? ''
  const table = record.tables?.[0]
  return table ? JSON.stringify(table.id) : record.chain
}

/** A record that can be told elsewhere; undefined for what is none. */
function parseDeliverable(text: string): StoredRecord | undefined {
  const record = parseRecord(text)
  return typeof record?.time === 'string' ? (record as StoredRecord) : undefined
}

/** None for a file that retention has removed. */
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

/** Names of segments sort by the numbers in them. */
const { compare } = new Intl.Collator('en', { numeric: true })

/** The oldest of those segments; undefined for none. */
export function findOldestSegment(segments: readonly string[]): string | undefined {
  return segments.toSorted(compare)[0]
}

/** The oldest segment that is newer than that one, which need not be there any more. */
async function findNextSegment(folder: string, file: string): Promise<string | undefined> {
  const segments = (await listChains(folder)).flatMap(({ segments }) => segments)
  const index = segments.indexOf(file)
  return index === -1 ? segments.find((each) => compare(each, file) > 0) : segments[index + 1]
}

/** Shows the tracker what stands before the cursor in its segment: the intents whose outcomes are still to come. */
async function restoreContext(
  folder: string,
  tracker: ContextTracker,
  { file, offset }: Cursor,
): Promise<void> {
  for (let from = 0; from < offset;) {
    const lines = await readLinesIfPresent(folder, file, { from, to: offset, bytes: 1_048_576 })
    for (const { text } of lines) {
      const record = parseDeliverable(text)
      if (record) tracker.track(record)
    }
    const end = lines.at(-1)?.end
    if (end === undefined) return
    from = end
  }
}
