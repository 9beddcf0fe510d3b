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

/** How far a sink has come in the log, with the last record that it took and the gateway that wrote it. */
export type Cursor = z.output<typeof cursorSchema>

/** The file that holds the cursor of that sink, in the folder of the log. */
export function getCursorPath(folder: string, sink: string): string {
  return join(folder, `sink-${sink}.json`)
}

/**
 * Reads a cursor; undefined where there is none, or what is there is no cursor: the sink then begins with the oldest
 * record, since more than once is allowed and never is not. Throws when the file cannot be read.
 */
export async function readCursor(path: string): Promise<Cursor | undefined> {
  try {
    return cursorSchema.safeParse(JSON.parse(await readFile(path, 'utf8'))).data
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    return ignoreMissing(error)
  }
}

/** Writes a cursor whole or not at all. */
export function writeCursor(path: string, cursor: Cursor): Promise<void> {
  return writeAtomically(path, JSON.stringify(cursor))
}
