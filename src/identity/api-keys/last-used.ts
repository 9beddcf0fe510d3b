import { readFile } from 'node:fs/promises'
import { ignoreMissing, isObject, mapInSlices, withFileLock, writeAtomically } from '../../lib/index.ts'

/** First uses within this time share one write, as its work grows with the number of keys. */
const firstUsesMs = 500

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
 * Writes the whole file now, within a second of the first use of a key, and after each interval: its modification time
 * shows how current it is. Gateways may share the file: later times from other gateways are retained.
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
  let writing: Promise<void> = Promise.resolve()
  let isWriteDue = false
  let firstUses: NodeJS.Timeout | undefined

  async function write(): Promise<void> {
    isWriteDue = false
    for (const id of used.keys()) if (!isKnown(id)) used.delete(id)
    for (const id of persisted) if (!isKnown(id)) persisted.delete(id)
    try {
      await withFileLock(`${file}.lock`, async () => {
        const times = await parseTimes((await readFile(file, 'utf8').catch(ignoreMissing)) ?? '{}')
        for (const id of times.keys()) if (isKnown(id)) persisted.add(id)
        for (const [id, time] of used) times.set(id, Math.max(time, times.get(id) ?? 0))
        const known = [...times].filter(([id]) => isKnown(id))
        const lines = await mapInSlices(known, ([id, time]) => `  "${id}": "${new Date(time).toISOString()}"`)
        await writeAtomically(file, `{\n${lines.join(',\n')}\n}\n`)
      })
    } catch (cause) {
      onError(cause)
    }
  }

  /** Writes once, even if called again before the write starts. */
  function writeSoon(): void {
    if (isWriteDue) return
    isWriteDue = true
    writing = writing.then(write)
  }

  writeSoon()
  const timer = setInterval(writeSoon, intervalMs).unref()
  return {
    record(id, atMs) {
      used.set(id, atMs)
      if (persisted.has(id)) return
      persisted.add(id)
      firstUses ??= setTimeout(() => {
        firstUses = undefined
        writeSoon()
      }, firstUsesMs).unref()
    },
    async close() {
      clearInterval(timer)
      clearTimeout(firstUses)
      writeSoon()
      await writing
    },
  }
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

async function parseTimes(text: string): Promise<Map<string, number>> {
  const content: unknown = JSON.parse(text)
  if (!isObject(content)) throw new Error('expected a JSON object with ids of keys and times in UTC')
  const times = await mapInSlices(Object.entries(content), ([id, time]): [string, number] => {
    const atMs = typeof time === 'string' && timePattern.test(time) ? Date.parse(time) : NaN
    if (Number.isNaN(atMs)) throw new Error(`expected a time in UTC at ${JSON.stringify(id)}`)
    return [id, atMs]
  })
  return new Map(times)
}
