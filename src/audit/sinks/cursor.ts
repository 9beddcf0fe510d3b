import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import type { LogSegment } from '../storage/log-segments.ts'
import { compareByAge } from '../storage/segment-names.ts'
import type { DurableEnd } from './sink.ts'

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
