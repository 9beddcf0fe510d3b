import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { oneAtATime } from './one-at-a-time.ts'
import { writeWhole } from './write-whole.ts'

const lastUsedSchema = z.record(z.string(), z.iso.datetime())

/** When keys were last used, kept on disk beside the requests. */
export interface LastUsed {
  /** Remembers that a key is used at that time, in milliseconds. */
  note(id: string, atMs: number): void
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
  readonly failed: (cause: unknown) => void
}

/**
 * Keeps times of last use in a file, written whole after each interval in which a key was used. Gateways may share the
 * file: what others wrote is kept where it is later.
 */
export function keepLastUsed({ file, intervalMs, isKnown, failed }: LastUsedOptions): LastUsed {
  const used = new Map<string, number>()
  let changed = false
  let writing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    if (!changed) return
    changed = false
    try {
      for (const id of used.keys()) if (!isKnown(id)) used.delete(id)
      await oneAtATime(file, async () => {
        const times = new Map(used)
        for (const [id, time] of await readLastUsed(file)) {
          if (isKnown(id)) times.set(id, Math.max(time, times.get(id) ?? 0))
        }
        await writeWhole(file, textOf(times))
      })
    } catch (cause) {
      changed = true
      failed(cause)
    }
  }

  const timer = setInterval(() => {
    writing = writing.then(write)
  }, intervalMs).unref()
  return {
    note(id, atMs) {
      used.set(id, atMs)
      changed = true
    },
    async close() {
      clearInterval(timer)
      await writing
      await write()
    },
  }
}

function textOf(times: ReadonlyMap<string, number>): string {
  const texts = [...times].map(([id, time]) => [id, new Date(time).toISOString()] as const)
  return `${JSON.stringify(Object.fromEntries(texts), undefined, 2)}\n`
}

/** The times of last use in a file, in milliseconds by the id of the key; none where there is no such file. */
export async function readLastUsed(file: string): Promise<ReadonlyMap<string, number>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  const times = lastUsedSchema.parse(JSON.parse(text))
  return new Map(Object.entries(times).map(([id, time]) => [id, Date.parse(time)]))
}
