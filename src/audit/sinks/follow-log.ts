import { join } from 'node:path'
import {
  recordId,
  type DeliveredRecord,
  type RecordPlace,
  type Undelivered,
} from '../formats/delivered-record.ts'
import { parseRecord } from '../chain.ts'
import { formatRecord, type RecordFormat } from '../formats/format-record.ts'
import { trackContext, type ContextTracker, type RecordOrigin } from '../formats/record-context.ts'
import type { StoredRecord } from '../read.ts'
import { listChains } from '../segment-names.ts'
import { isCode } from '../system-error.ts'
import type { Cursor } from './cursor.ts'
import { readSegmentLines, type SegmentLine } from './read-segment.ts'
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
export async function followLog(
  folder: string,
  format: RecordFormat,
  durable: () => DurableEnd,
  cursor: Cursor | undefined,
): Promise<LogFollower> {
  const tracker = trackContext(cursor?.origin)
  if (cursor) await remember(folder, tracker, cursor)
  return {
    async read(cursor, bounds) {
      const end = durable()
      const reading = new Reading(tracker, format, cursor)
      let bytes = bounds.bytes
      for (let file = cursor?.file ?? (await nextSegment(folder, '')); file !== undefined;) {
        const to = file === end.file ? end.length : Infinity
        const lines = await linesOf(folder, file, { from: reading.offsetIn(file), to, bytes })
        for (const line of lines.slice(0, bounds.records - reading.deliveries.length)) {
          reading.take(file, line)
          bytes -= line.end - line.offset
        }
        if (bytes <= 0 || reading.deliveries.length >= bounds.records) break
        if (lines.length > 0) continue
        if (file === end.file) break
        const next = await nextSegment(folder, file)
        if (next !== undefined) reading.enter(next)
        file = next
      }
      return { deliveries: reading.deliveries, cursor: reading.cursor }
    },
  }
}

/** Collects what is read in one go. */
class Reading {
  readonly deliveries: Delivery[] = []
  cursor: Cursor | undefined
  readonly #tracker: ContextTracker
  readonly #format: RecordFormat

  constructor(tracker: ContextTracker, format: RecordFormat, cursor: Cursor | undefined) {
    this.#tracker = tracker
    this.#format = format
    this.cursor = cursor
  }

  offsetIn(file: string): number {
    return this.cursor?.file === file ? this.cursor.offset : 0
  }

  enter(file: string): void {
    this.cursor = { v: 1, origin: unknownOrigin, ...this.cursor, file, offset: 0 }
  }

  take(file: string, line: SegmentLine): void {
    const record = deliverable(line.text)
    const { last } = this.cursor ?? {}
    const after = last && { after: last }
    if (record === undefined) {
      const { offset, end } = line
      const missing = { file, offset, bytes: end - offset }
      this.#deliver({ ...undelivered(new Date().toISOString()), ...after, line: missing })
      // The record that stood there is told of; it is not missed a second time.
      const skipped = last && { chain: last.chain, seq: last.seq + 1 }
      this.#move(file, end, skipped, this.cursor?.origin)
      return
    }
    const { chain, seq } = record
    if (!follows(record, last))
      this.#deliver({ ...undelivered(record.time), ...after, before: { chain, seq } })
    this.#move(file, line.end, { chain, seq }, this.#deliver(record))
  }

  #deliver(record: DeliveredRecord): RecordOrigin {
    const context = this.#tracker.contextOf(record)
    const text = formatRecord(record, this.#format, context)
    this.deliveries.push({ id: recordId(record), key: keyOf(record), text, record })
    return context.origin
  }

  #move(file: string, offset: number, last: RecordPlace | undefined, origin = unknownOrigin): void {
    this.cursor = { v: 1, file, offset, ...(last && { last }), origin }
  }
}

function undelivered(time: string): Pick<Undelivered, 'v' | 'kind' | 'time'> {
  return { v: 1, kind: 'undelivered', time }
}

/** Whether nothing is missing between the two. */
function follows(record: StoredRecord, last: RecordPlace | undefined): boolean {
  if (record.chain === last?.chain) return record.seq === last.seq + 1
  if (record.kind !== 'start' || record.seq !== 0) return false
  return record.previous?.chain === last?.chain && record.previous?.seq === last?.seq
}

/** The records of a table have one key, in every chain; what concerns no table has the key of its chain. */
function keyOf(record: DeliveredRecord): string {
  if (record.kind === 'undelivered') return record.before?.chain ?? ''
  const table = record.tables?.[0]
  return table ? JSON.stringify(table.id) : record.chain
}

/** A record that can be told elsewhere; undefined for what is none. */
function deliverable(text: string): StoredRecord | undefined {
  const record = parseRecord(text)
  return typeof record?.time === 'string' ? (record as StoredRecord) : undefined
}

/** None for a file that retention has removed. */
async function linesOf(
  folder: string,
  file: string,
  part: Parameters<typeof readSegmentLines>[1],
): Promise<SegmentLine[]> {
  try {
    return await readSegmentLines(join(folder, file), part)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return []
    throw error
  }
}

/** Names of segments sort by the numbers in them. */
const { compare } = new Intl.Collator('en', { numeric: true })

/** The oldest of those segments; undefined for none. */
export function oldestOf(segments: readonly string[]): string | undefined {
  return segments.toSorted(compare)[0]
}

/** The oldest segment that is newer than that one, which need not be there any more. */
async function nextSegment(folder: string, file: string): Promise<string | undefined> {
  const segments = (await listChains(folder)).flatMap(({ segments }) => segments)
  const index = segments.indexOf(file)
  return index === -1 ? segments.find((each) => compare(each, file) > 0) : segments[index + 1]
}

/** Shows the tracker what stands before the cursor in its segment: the intents whose outcomes are still to come. */
async function remember(folder: string, tracker: ContextTracker, { file, offset }: Cursor): Promise<void> {
  for (let from = 0; from < offset;) {
    const lines = await linesOf(folder, file, { from, to: offset, bytes: 1_048_576 })
    for (const { text } of lines) {
      const record = deliverable(text)
      if (record) tracker.contextOf(record)
    }
    const end = lines.at(-1)?.end
    if (end === undefined) return
    from = end
  }
}
