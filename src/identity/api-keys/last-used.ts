import { readFile, stat } from 'node:fs/promises'
import { z } from 'zod'
import { withFileLock } from '../../lib/fs/file-lock.ts'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'

const lastUsedSchema = z.record(z.string(), z.iso.datetime())

/** When keys were last used, kept on disk beside the requests. */
export interface LastUsedRecorder {
  /** Remembers that a key is used at that time, in milliseconds. */
  record(id: string, atMs: number): void
  /** Ends the writing, after a last one. */
  close(): Promise<void>
}

/** How times of last use are kept. */
export interface LastUsedOptions {
  readonly file: string
  readonly intervalMs: number
  /** Whether a store holds the key now; others are forgotten. */
  readonly isKnown: (id: string) => boolean
  /** The file could not be written; it is tried again after the interval. */
  readonly onError: (cause: unknown) => void
}

/**
 * Keeps times of last use in a file, written whole now, when a key is used that the file does not hold, and after each
 * interval: the time of the file says how new they are. Gateways may share the file: what others wrote is kept where it
 * is later.
 */
export function openLastUsedRecorder({
  file,
  intervalMs,
  isKnown,
  onError,
}: LastUsedOptions): LastUsedRecorder {
  const used = new Map<string, number>()
  /** The keys that the file holds, or that a write was begun for. */
  const held = new Set<string>()
  let writing: Promise<void> | undefined
  let isWriteDue = false

  async function write(): Promise<void> {
    isWriteDue = false
    try {
      for (const id of used.keys()) {
        if (isKnown(id)) continue
        used.delete(id)
        held.delete(id)
      }
      await withFileLock(file, async () => {
        const times = new Map(used)
        for (const [id, time] of await readTimes(file, true)) {
          if (!isKnown(id)) continue
          times.set(id, Math.max(time, times.get(id) ?? 0))
          held.add(id)
        }
        await writeAtomically(file, formatTimes(times))
      })
    } catch (cause) {
      onError(cause)
    }
  }

  /** Writes once, also if it is called again before the write begins. */
  function writeSoon(): void {
    if (isWriteDue) return
    isWriteDue = true
    writing = (writing ?? Promise.resolve()).then(write)
  }

  writeSoon()
  const timer = setInterval(writeSoon, intervalMs).unref()
  return {
    record(id, atMs) {
      used.set(id, atMs)
      if (held.has(id)) return
      held.add(id)
      writeSoon()
    },
    async close() {
      clearInterval(timer)
      writeSoon()
      await writing
    },
  }
}

function formatTimes(times: ReadonlyMap<string, number>): string {
  const texts = [...times].map(([id, time]) => [id, new Date(time).toISOString()] as const)
  return `${JSON.stringify(Object.fromEntries(texts), undefined, 2)}\n`
}

/** Times of last use, in milliseconds. */
export interface LastUsedTimes {
  /** When they were written: later uses are not in them. */
  readonly asOf: number
  /** By the id of the key. */
  readonly times: ReadonlyMap<string, number>
}

/** The times of last use in a file. Rejects if there is no such file. */
export async function readLastUsed(file: string): Promise<LastUsedTimes> {
  const { mtime } = await stat(file)
  return { asOf: mtime.getTime(), times: await readTimes(file, false) }
}

async function readTimes(file: string, mayBeMissing: boolean): Promise<ReadonlyMap<string, number>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && mayBeMissing) return '{}'
    throw error
  })
  const times = lastUsedSchema.parse(JSON.parse(text))
  return new Map(Object.entries(times).map(([id, time]) => [id, Date.parse(time)]))
}
