import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import { readFirstRecord } from '../storage/read-audit-log.ts'
import { listChains } from '../storage/segment-names.ts'
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

/**
 * Counts the records between a cursor and the end of the log. Reads one line of each later chain: its start record
 * contains the end of the previous chain.
 */
export async function countRecordsAfter(
  folder: string,
  cursor: Cursor | undefined,
  end: DurableEnd,
): Promise<number> {
  const { chain: current, seq = -1 } = cursor?.last ?? {}
  if (current === end.chain) return end.seq - seq
  const chains = await listChains(folder)
  let count = end.seq + 1
  for (const { segments } of chains.slice(
    Math.max(
      0,
      chains.findIndex(({ chain }) => chain === current),
    ) + 1,
  )) {
    const [file] = segments
    const start =
      file === undefined ? undefined : await readFirstRecord(join(folder, file)).catch(() => undefined)
    if (start?.kind !== 'start' || start.previous === undefined) continue
    count += start.previous.seq - (start.previous.chain === current ? seq : -1)
  }
  return count
}
