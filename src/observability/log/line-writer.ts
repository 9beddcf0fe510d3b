import { write, writeSync } from 'node:fs'
import { takeAtomicLines } from '../../lib/fs/atomic-lines.ts'

/** Takes the lines of a log, and writes many of them at a time. */
export interface LineWriter {
  /** Never waits and never throws. */
  write(line: string): void
  /** Resolves when everything that was written before is out, or is known to be lost. */
  close(): Promise<void>
}

/** What a writer keeps to. */
export interface LineWriterOptions {
  /** Told how many lines were lost: there was no room for them, or they could not be written. */
  readonly onLost: (lines: number) => void
  /** Milliseconds that a line waits for others at the most. */
  readonly flushDelayMs?: number
  /** Whether other processes write there too: then lines are not mixed up with theirs (first-lines.ts). */
  readonly isShared?: boolean
  /** Characters that wait while one piece is being written. */
  readonly maxPendingChars?: number
}

/** So many characters are written at once, without waiting for more. */
const flushChars = 64 * 1024
const defaultMaxPendingChars = 8 * 1024 * 1024
const defaultFlushDelayMs = 1_000
/** Between the tries of a descriptor that takes nothing just now, and how often it is tried while the process ends. */
const retryMs = 10
const maxExitTries = 100

/**
 * Writes lines to an open descriptor, off the event loop: a reader that has stopped costs memory up to the room, and
 * then lines, but never time. What still waits when the process ends is written then. (The destination of pino does
 * the same, but a descriptor that fails, as on a full disk, ends the process there or keeps it from ending.)
 */
export function openLineWriter(descriptor: number, options: LineWriterOptions): LineWriter {
  const {
    onLost,
    flushDelayMs = defaultFlushDelayMs,
    maxPendingChars = defaultMaxPendingChars,
    isShared = false,
  } = options
  // One text: to join many in the end takes twice as long.
  let waiting = ''
  let lines = 0
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined
  process.on('exit', writeRest)

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (writing !== undefined || waiting === '') return
    const count = lines
    writing = writeAsynchronously(descriptor, take(), isShared)
      .catch(() => onLost(count))
      .then(() => {
        writing = undefined
        flushInTime()
      })
  }

  /** Many at once: to write one by itself costs more than all else about it. */
  function flushInTime(): void {
    if (waiting.length >= flushChars) flush()
    else if (waiting !== '') timer ??= setTimeout(flush, flushDelayMs).unref()
  }

  async function writeAll(): Promise<void> {
    flush()
    if (writing === undefined) return
    await writing
    await writeAll()
  }

  function take(): Buffer {
    const bytes = Buffer.from(waiting)
    waiting = ''
    lines = 0
    return bytes
  }

  function writeRest(): void {
    if (waiting !== '') writeSynchronously(descriptor, take())
  }

  return {
    write(line) {
      if (waiting.length + line.length > maxPendingChars) {
        onLost(1)
        return
      }
      waiting += line
      lines += 1
      flushInTime()
    },
    async close() {
      await writeAll()
      process.off('exit', writeRest)
    },
  }
}

/** Writes all of it, however many pieces that takes. Rejects with what the system says. */
async function writeAsynchronously(descriptor: number, bytes: Buffer, isShared: boolean): Promise<void> {
  for (let rest = bytes; rest.length > 0;) {
    const chunk = isShared ? takeAtomicLines(rest) : rest
    const written = await new Promise<number>((resolve, reject) => {
      write(descriptor, chunk, (error, count) => {
        if (error === null) resolve(count)
        else if (error.code === 'EAGAIN') setTimeout(resolve, retryMs, 0)
        else reject(error)
      })
    })
    rest = rest.subarray(written)
  }
}

/** The same for a process that ends: it waits a second at the most, and has nobody to tell of a failure. */
function writeSynchronously(descriptor: number, bytes: Buffer): void {
  let rest = bytes
  for (let tries = 0; rest.length > 0 && tries < maxExitTries; tries += 1) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
    }
  }
}
