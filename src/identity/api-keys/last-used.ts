import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { ignoreMissing, writeAtomically } from '../../lib/index.ts'

const timesSchema = z.record(z.string(), z.iso.datetime())

/**
 * Records when keys were last used, in a file that no other gateway shares. Writes it now, after each interval and at the
 * end: its modification time shows how current it is. Keys that are not known any more are removed. `onError` is called if
 * the file could not be read or written; a write is retried after the interval.
 */
export function openLastUsedRecorder(
  file: string,
  intervalMs: number,
  isKnown: (id: string) => boolean,
  onError: (cause: unknown) => void,
) {
  const times = new Map<string, number>()
  let writing = read().catch(onError)

  async function read(): Promise<void> {
    const text = await readFile(file, 'utf8').catch(ignoreMissing)
    const before = text === undefined ? {} : timesSchema.parse(JSON.parse(text))
    for (const [id, time] of Object.entries(before)) if (!times.has(id)) times.set(id, Date.parse(time))
  }

  async function write(): Promise<void> {
    for (const id of times.keys()) if (!isKnown(id)) times.delete(id)
    const entries = [...times].map(([id, time]) => [id, new Date(time).toISOString()])
    await writeAtomically(file, `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`)
  }

  function writeSoon(): void {
    writing = writing.then(write).catch(onError)
  }

  writeSoon()
  const timer = setInterval(writeSoon, intervalMs).unref()
  return {
    record: (id: string, atMs: number): unknown => times.set(id, atMs),
    /** Stops after a final write. */
    async close(): Promise<void> {
      clearInterval(timer)
      writeSoon()
      await writing
    },
  }
}
