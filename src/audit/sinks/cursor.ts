import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'

const cursorSchema = z.strictObject({
  v: z.literal(1),
  file: z.string().describe('The segment, and where in it the next record begins.'),
  offset: z.int().min(0),
  last: z.strictObject({ chain: z.string(), seq: z.int() }).optional(),
  origin: z.strictObject({ gateway: z.string(), software: z.string() }),
})

/** Position of a sink in the log, with the last delivered record and the gateway that wrote it. */
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
