import { readFile, stat } from 'node:fs/promises'
import { runAtOnce, runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'
import { withFileLock } from '../../lib/fs/file-lock.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'
import { isObject } from '../../lib/json/is-object.ts'

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
  let writing: Promise<void> | undefined
  let isWriteDue = false
  let firstUses: NodeJS.Timeout | undefined

  async function write(): Promise<void> {
    isWriteDue = false
    try {
      await withFileLock(`${file}.lock`, async () => {
        const text = (await readFile(file, 'utf8').catch(ignoreMissing)) ?? '{}'
        await writeAtomically(file, await runInSlices(addUses(text)))
      })
    } catch (cause) {
      onError(cause)
    }
  }

  /** Returns the new text of the file. */
  function* addUses(text: string): Steps<string> {
    const times = yield* parseTimes(text)
    for (const id of times.keys()) {
      if (isKnown(id)) persisted.add(id)
      else times.delete(id)
      yield
    }
    for (const [id, time] of used) {
      if (isKnown(id)) times.set(id, Math.max(time, times.get(id) ?? 0))
      else {
        used.delete(id)
        persisted.delete(id)
      }
      yield
    }
    return yield* formatTimes(times)
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

function* formatTimes(times: ReadonlyMap<string, number>): Steps<string> {
  const lines: string[] = []
  for (const [id, time] of times) {
    lines.push(`  "${id}": "${new Date(time).toISOString()}"`)
    yield
  }
  return `{\n${lines.join(',\n')}\n}\n`
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

function* parseTimes(text: string): Steps<Map<string, number>> {
  const content: unknown = JSON.parse(text)
  if (!isObject(content)) throw new Error('expected a JSON object with ids of keys and times in UTC')
  const times = new Map<string, number>()
  for (const [id, time] of Object.entries(content)) {
    const atMs = typeof time === 'string' && timePattern.test(time) ? Date.parse(time) : NaN
    if (Number.isNaN(atMs)) throw new Error(`expected a time in UTC at ${JSON.stringify(id)}`)
    times.set(id, atMs)
    yield
  }
  return times
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
  return { asOf: mtime.getTime(), times: runAtOnce(parseTimes(await readFile(file, 'utf8'))) }
}
