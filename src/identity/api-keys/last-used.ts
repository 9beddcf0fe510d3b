import { readFile } from 'node:fs/promises'
import { ignoreMissing, isObject, mapInSlices, writeAtomically } from '../../lib/index.ts'

/** First uses within this time share one write, as its work grows with the number of keys. */
const firstUsesMs = 500

export interface LastUsedRecorder {
  record(id: string, atMs: number): void
  /** Stops after a final write. */
  close(): Promise<void>
}

export interface LastUsedOptions {
  /** In the folder of the audit log, which no other gateway shares. */
  readonly file: string
  readonly intervalMs: number
  /** Whether a store currently contains the key; others are removed. */
  readonly isKnown: (id: string) => boolean
  /** Called if the file could not be read or written; a write is retried after the interval. */
  readonly onError: (cause: unknown) => void
}

/**
 * Writes the whole file now, within a second of the first use of a key, and after each interval: its modification time
 * shows how current it is.
 */
export function openLastUsedRecorder(options: LastUsedOptions): LastUsedRecorder {
  const { file, intervalMs, isKnown, onError } = options
  const times = new Map<string, number>()
  let writing = readTimes(file).then((before) => {
    for (const [id, time] of before) if (!times.has(id)) times.set(id, time)
  }, onError)
  let isWriteDue = false
  let firstUses: NodeJS.Timeout | undefined

  async function write(): Promise<void> {
    isWriteDue = false
    for (const id of times.keys()) if (!isKnown(id)) times.delete(id)
    const lines = await mapInSlices(
      [...times],
      ([id, time]) => `  "${id}": "${new Date(time).toISOString()}"`,
    )
    await writeAtomically(file, `{\n${lines.join(',\n')}\n}\n`)
  }

  /** Writes once, even if called again before the write starts. */
  function writeSoon(): void {
    if (isWriteDue) return
    isWriteDue = true
    writing = writing.then(write).catch(onError)
  }

  writeSoon()
  const timer = setInterval(writeSoon, intervalMs).unref()
  return {
    record(id, atMs) {
      const isFirst = !times.has(id)
      times.set(id, atMs)
      if (!isFirst) return
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

async function readTimes(file: string): Promise<readonly (readonly [id: string, atMs: number])[]> {
  const content: unknown = JSON.parse((await readFile(file, 'utf8').catch(ignoreMissing)) ?? '{}')
  if (!isObject(content)) throw new Error('expected a JSON object with ids of keys and times in UTC')
  return mapInSlices(Object.entries(content), ([id, time]) => {
    const atMs = typeof time === 'string' && timePattern.test(time) ? Date.parse(time) : NaN
    if (Number.isNaN(atMs)) throw new Error(`expected a time in UTC at ${JSON.stringify(id)}`)
    return [id, atMs] as const
  })
}
