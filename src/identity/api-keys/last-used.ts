import { readFile, stat } from 'node:fs/promises'
import { z } from 'zod'
import { withFileLock } from '../../lib/fs/file-lock.ts'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'

const lastUsedSchema = z.record(z.string(), z.iso.datetime())

export interface LastUsedRecorder {
  record(id: string, atMs: number): void
  /** Stops after a final write. */
  close(): Promise<void>
}

export interface LastUsedOptions {
  readonly file: string
  readonly intervalMs: number
  /** Whether a store currently contains the key; others are removed. */
  readonly isKnown: (id: string) => boolean
  /** Called if the file could not be written; the write is retried after the interval. */
  readonly onError: (cause: unknown) => void
}

/**
 * Writes the whole file now, when a new key is used, and after each interval: its modification time shows how current
 * it is. Gateways may share the file: later times from other gateways are retained.
 */
export function openLastUsedRecorder({
  file,
  intervalMs,
  isKnown,
  onError,
}: LastUsedOptions): LastUsedRecorder {
  const used = new Map<string, number>()
  /** Keys in the file or in a write that has started. */
  const persisted = new Set<string>()
  let writing: Promise<void> | undefined
  let isWriteDue = false

  async function write(): Promise<void> {
    isWriteDue = false
    try {
      for (const id of used.keys()) {
        if (isKnown(id)) continue
        used.delete(id)
        persisted.delete(id)
      }
      await withFileLock(file, async () => {
        const times = new Map(used)
        for (const [id, time] of await readTimes(file, true)) {
          if (!isKnown(id)) continue
          times.set(id, Math.max(time, times.get(id) ?? 0))
          persisted.add(id)
        }
        await writeAtomically(file, formatTimes(times))
      })
    } catch (cause) {
      onError(cause)
    }
  }

  /** Writes once, even if called again before the write starts. */
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
      if (persisted.has(id)) return
      persisted.add(id)
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

/** Last-used times, in milliseconds. */
export interface LastUsedTimes {
  /** When they were written; later uses are missing. */
  readonly asOf: number
  readonly times: ReadonlyMap<string, number>
}

/** Reads the last-used times from a file. Rejects if there is no such file. */
export async function readLastUsed(file: string): Promise<LastUsedTimes> {
  const { mtime } = await stat(file)
  return { asOf: mtime.getTime(), times: await readTimes(file, false) }
}

async function readTimes(file: string, allowMissing: boolean): Promise<ReadonlyMap<string, number>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && allowMissing) return '{}'
    throw error
  })
  const times = lastUsedSchema.parse(JSON.parse(text))
  return new Map(Object.entries(times).map(([id, time]) => [id, Date.parse(time)]))
}
