import { writeSync } from 'node:fs'
import { hasErrorCode, writeAll } from '../../lib/index.ts'

export type LineWriter = ReturnType<typeof openLineWriter>

export interface LineWriterOptions {
  /** Reports the number of lost lines: the buffer was full, or the write failed. */
  readonly onLost: (lines: number) => void
  /** Maximum milliseconds that a line is buffered. */
  readonly flushDelayMs?: number
  /** Maximum characters buffered during a write. */
  readonly maxPendingChars?: number
}

/** Buffered characters that trigger a write at once. */
const flushChars = 64 * 1024
const defaultMaxPendingChars = 8 * 1024 * 1024
const defaultFlushDelayMs = 1_000
/** For a descriptor that is not writable while the process exits, in milliseconds. */
const retryMs = 10
const maxExitAttempts = 100
const maxCloseMs = 2_000

/**
 * A blocked reader costs memory and then lines, but never time. (With the destination of pino, a failing descriptor, as
 * on a full disk, ends the process or keeps it from ending.)
 */
export function openLineWriter(descriptor: number, options: LineWriterOptions) {
  const { onLost, flushDelayMs = defaultFlushDelayMs, maxPendingChars = defaultMaxPendingChars } = options
  // One string: joining many at the end takes twice as long.
  let pending = ''
  let lines = 0
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined
  let deadline = Infinity
  process.on('exit', writePendingOnExit)

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (writing !== undefined || pending === '') return
    const count = lines
    writing = writeAll(descriptor, takePending(), () => performance.now() >= deadline)
      .catch(() => onLost(count))
      .then(() => {
        writing = undefined
        scheduleFlush()
      })
  }

  /** Batched: the write itself dominates the cost of a line. */
  function scheduleFlush(): void {
    if (pending.length >= flushChars) flush()
    else if (pending !== '') timer ??= setTimeout(flush, flushDelayMs).unref()
  }

  async function drain(): Promise<void> {
    flush()
    if (writing === undefined) return
    await writing
    await drain()
  }

  function takePending(): Buffer {
    const bytes = Buffer.from(pending)
    pending = ''
    lines = 0
    return bytes
  }

  function writePendingOnExit(): void {
    if (pending !== '') writeSynchronously(descriptor, takePending())
  }

  return {
    /** Never blocks and never throws. */
    write(line: string): void {
      if (pending.length + line.length > maxPendingChars) {
        onLost(1)
        return
      }
      pending += line
      lines += 1
      scheduleFlush()
    },
    /** Resolves when all earlier lines are written or lost: those that cannot be written within two seconds are. */
    async close(): Promise<void> {
      deadline = performance.now() + maxCloseMs
      await drain()
      process.off('exit', writePendingOnExit)
    },
  }
}

/** Blocks for at most a second and ignores errors. */
function writeSynchronously(descriptor: number, bytes: Buffer): void {
  let rest = bytes
  for (let attempts = 0; rest.length > 0 && attempts < maxExitAttempts; attempts += 1) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (error) {
      if (!hasErrorCode(error, 'EAGAIN')) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
    }
  }
}
