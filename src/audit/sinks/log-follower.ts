import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ignoreMissing, parseJsonBytes, readLines } from '../../lib/index.ts'
import type { AuditRecord, RecordReference } from '../records/audit-record.ts'
import { parseRecord } from '../records/hash-chain.ts'
import { isForeignRecord, type LogSegment, compareByAge } from '../storage/log-segments.ts'
import type { Delivery, DurableEnd, Undelivered } from './sink.ts'

const cursorSchema = z.object({
  v: z.literal(1),
  file: z.string().describe('The segment, and where in it the next record begins.'),
  offset: z.int().min(0),
  last: z.strictObject({ chain: z.string(), seq: z.int() }).optional(),
})

/** Position of a sink in the log, with the last delivered record. */
export type Cursor = z.output<typeof cursorSchema>

/** Undefined if missing or invalid: the sink then starts with the oldest record. Throws if the file cannot be read. */
export async function readCursor(path: string): Promise<Cursor | undefined> {
  const bytes = await readFile(path).catch(ignoreMissing)
  return cursorSchema.safeParse(bytes && parseJsonBytes(bytes)).data
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

/** A delivery, and where the log goes on after it. */
export interface FollowedDelivery extends Delivery {
  readonly cursor: Cursor
}

/**
 * Reads a growing log from a cursor up to its durable end. Yields removed records, invalid lines and those of another
 * writer as `undelivered`, so that receivers detect the loss. Rejects if an existing file cannot be read.
 */
export async function* followLog(
  folder: string,
  segments: readonly LogSegment[],
  start: Cursor | undefined,
  end: DurableEnd,
): AsyncGenerator<FollowedDelivery, void> {
  let last = start?.last
  for (const segment of segments) {
    const { file } = segment
    if (start !== undefined && compareByAge(file, start.file) < 0) continue
    const from = file === start?.file ? start.offset : 0
    const to = file === end.file ? end.length : Infinity
    const moveTo = (offset: number): Cursor => ({ v: 1, file, offset, last })
    try {
      for await (const line of readLines(join(folder, file), { from, to })) {
        if (line.end !== 'newline') break
        const { offset } = line
        const bytes = line.bytes.length + 1
        const text = line.bytes.toString('utf8')
        const record = parseRecord(text)
        const expected = { chain: last?.chain ?? '', seq: (last?.seq ?? -1) + 1 }
        const isForeign = isForeignRecord(segment, expected)
        if (record === undefined || isForeign) {
          const gap = { after: last, line: { file, offset, bytes } }
          const report = createReport(`${file}:${offset}:unreadable`, new Date().toISOString(), gap)
          // The invalid record at this position is reported here and must not be reported as missing again.
          if (!isForeign && last !== undefined) last = expected
          yield { ...report, cursor: moveTo(offset + bytes) }
        } else {
          const { chain, seq, time } = record
          if (!isNextRecord(record, last)) {
            const gap = { after: last, before: { chain, seq } }
            // The gap is reported here and must not be reported again.
            last = { chain, seq: seq - 1 }
            yield { ...createReport(`${chain}:${seq}:missing`, time, gap), cursor: moveTo(offset) }
          }
          last = { chain, seq }
          yield { id: `${chain}:${seq}`, text, record, cursor: moveTo(offset + bytes) }
        }
      }
    } catch (error) {
      ignoreMissing(error)
    }
    if (file === end.file) return
  }
}

/** Creates the delivery that replaces a refused record. Undefined if the refused delivery reports a gap itself. */
export function reportRefused({ record }: Delivery): Delivery | undefined {
  if (record.kind === 'undelivered') return undefined
  const { chain, seq, time } = record
  return createReport(`${chain}:${seq}:refused`, time, { refused: { chain, seq } })
}

function createReport(
  id: string,
  time: string,
  gap: Pick<Undelivered, 'after' | 'before' | 'refused' | 'line'>,
): Delivery {
  const record: Undelivered = { v: 1, kind: 'undelivered', time, ...gap }
  return { id, text: JSON.stringify(record), record }
}

function isNextRecord(record: AuditRecord, last: RecordReference | undefined): boolean {
  if (record.chain === last?.chain) return record.seq === last.seq + 1
  if (record.kind !== 'start' || record.seq !== 0) return false
  return record.previous?.chain === last?.chain && record.previous?.seq === last?.seq
}
