import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'
import { parseStoredRecord, type StoredRecord } from '../storage/read-audit-log.ts'
import { isForeignRecord, type LogSegment } from '../storage/log-segments.ts'
import { compareByAge } from '../storage/segment-names.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import { readLines, type FileLine } from '../../lib/fs/read-lines.ts'
import type { Delivery, DurableEnd, RecordReference, Undelivered } from './sink.ts'

const cursorSchema = z.object({
  v: z.literal(1),
  file: z.string().describe('The segment, and where in it the next record begins.'),
  offset: z.int().min(0),
  last: z.strictObject({ chain: z.string(), seq: z.int() }).optional(),
})

/** Position of a sink in the log, with the last delivered record. */
export type Cursor = z.output<typeof cursorSchema>

export function getCursorPath(folder: string, sink: string): string {
  return join(folder, `sink-${sink}.json`)
}

/** Undefined if missing or invalid: the sink then starts with the oldest record. Throws if the file cannot be read. */
export async function readCursor(path: string): Promise<Cursor | undefined> {
  try {
    return cursorSchema.safeParse(JSON.parse(await readFile(path, 'utf8'))).data
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    return ignoreMissing(error)
  }
}

export function writeCursor(path: string, cursor: Cursor): Promise<void> {
  return writeAtomically(path, JSON.stringify(cursor))
}

/** Counts the records between a cursor and the end of the log. */
export function countRecordsAfter(
  segments: readonly LogSegment[],
  cursor: Cursor | undefined,
  { chain: current, seq: newest }: DurableEnd,
): number {
  const { chain: last, seq = -1 } = cursor?.last ?? {}
  const ends = new Map<string, number>()
  for (const { chain, end } of segments) if (chain === end?.chain) ends.set(chain, end.seq)
  ends.set(current, newest)
  return [...ends]
    .filter(([chain]) => last === undefined || compareByAge(chain, last) >= 0)
    .reduce((sum, [chain, end]) => sum + end - (chain === last ? seq : -1), 0)
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

/**
 * Reads a growing log from a cursor up to its durable end. Delivers removed records, invalid lines and those of another
 * writer as `undelivered`, so that receivers detect the loss. Rejects if an existing file cannot be read.
 */
export async function readBatch(
  folder: string,
  segments: readonly LogSegment[],
  cursor: Cursor | undefined,
  end: DurableEnd,
  bounds: ReadBounds,
): Promise<ReadBatch> {
  const batch = new Batch(cursor)
  let { bytes } = bounds
  for (let file = cursor?.file ?? segments[0]?.file; file !== undefined;) {
    const segment = segments.find((each) => each.file === file)
    const range = { from: batch.getOffset(file), to: file === end.file ? end.length : Infinity }
    try {
      for await (const line of readLines(join(folder, file), range)) {
        if (line.end !== 'newline') break
        batch.add(file, line, segment)
        bytes -= line.bytes.length + 1
        if (bytes <= 0 || batch.deliveries.length >= bounds.records) return batch
      }
    } catch (error) {
      ignoreMissing(error)
    }
    if (file === end.file) break
    const next = segments.find((each) => compareByAge(each.file, file ?? '') > 0)?.file
    if (next !== undefined) batch.cursor = { v: 1, ...batch.cursor, file: next, offset: 0 }
    file = next
  }
  return batch
}

/** Creates the delivery that replaces a refused record. Undefined if the refused delivery reports a gap itself. */
export function reportRefused({ record }: Delivery): Delivery | undefined {
  if (record.kind === 'undelivered') return undefined
  const { chain, seq, time } = record
  return createReport(`${chain}:${seq}:refused`, time, { refused: { chain, seq } })
}

class Batch implements ReadBatch {
  readonly deliveries: Delivery[] = []
  cursor: Cursor | undefined

  constructor(cursor: Cursor | undefined) {
    this.cursor = cursor
  }

  getOffset(file: string): number {
    return this.cursor?.file === file ? this.cursor.offset : 0
  }

  add(file: string, { bytes, offset }: FileLine, segment: LogSegment | undefined): void {
    const text = bytes.toString('utf8')
    const end = offset + bytes.length + 1
    const record = parseStoredRecord(text)
    const { last } = this.cursor ?? {}
    const after = last && { after: last }
    const isForeign =
      segment !== undefined &&
      isForeignRecord(segment, { chain: last?.chain ?? '', seq: (last?.seq ?? -1) + 1 })
    if (record === undefined || isForeign) {
      const line = { file, offset, bytes: end - offset }
      const time = new Date().toISOString()
      this.deliveries.push(createReport(`${file}:${offset}:unreadable`, time, { ...after, line }))
      // The invalid record at this position is already reported and must not be reported as missing again.
      return this.#moveCursor(file, end, isForeign ? last : last && { chain: last.chain, seq: last.seq + 1 })
    }
    const { chain, seq } = record
    const id = `${chain}:${seq}`
    if (!isNextRecord(record, last))
      this.deliveries.push(createReport(`${id}:missing`, record.time, { ...after, before: { chain, seq } }))
    this.deliveries.push({ id, text, record })
    this.#moveCursor(file, end, { chain, seq })
  }

  #moveCursor(file: string, offset: number, last: RecordReference | undefined): void {
    this.cursor = { v: 1, file, offset, ...(last && { last }) }
  }
}

function createReport(
  id: string,
  time: string,
  gap: Pick<Undelivered, 'after' | 'before' | 'refused' | 'line'>,
): Delivery {
  const record: Undelivered = { v: 1, kind: 'undelivered', time, ...gap }
  return { id, text: JSON.stringify(record), record }
}

function isNextRecord(record: StoredRecord, last: RecordReference | undefined): boolean {
  if (record.chain === last?.chain) return record.seq === last.seq + 1
  if (record.kind !== 'start' || record.seq !== 0) return false
  return record.previous?.chain === last?.chain && record.previous?.seq === last?.seq
}
