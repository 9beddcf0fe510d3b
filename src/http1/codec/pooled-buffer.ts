import type { WriteCallback } from './message-writer.ts'

/** Shared by all connections for small reads: each has consumed or copied its bytes before the next one reads. */
export const sharedReadBuffer = Buffer.allocUnsafeSlow(64 * 1024)

const largeBytes = 1024 * 1024
const maxPooled = 16
const pooled: Buffer[] = []

function acquireBuffer(): Buffer {
  return pooled.pop() ?? Buffer.allocUnsafeSlow(largeBytes)
}

/** The buffer must not be used afterwards, also not by pending reads and writes. */
function releaseBuffer(buffer: Buffer): void {
  if (pooled.length < maxPooled) pooled.push(buffer)
}

/** A buffer of the pool; counts the chunks in it that are in use. */
export class PooledBuffer {
  readonly buffer = acquireBuffer()
  #retainedChunks = 0
  #isClosed = false
  #isReusable = true

  get isInUse(): boolean {
    return this.#retainedChunks > 0
  }

  /**
   * Counts a chunk. Call the result once, when the chunk is not used any more: as the callback of its write. With an
   * error, the memory never returns to the pool.
   */
  retain(): WriteCallback {
    this.#retainedChunks += 1
    return (error) => {
      if (error) this.#isReusable = false
      this.#retainedChunks -= 1
      if (this.#isClosed) this.#returnUnused()
    }
  }

  /** Nothing is read into the buffer any more. It returns to the pool when no chunk is in use any more. */
  close(): void {
    this.#isClosed = true
    this.#returnUnused()
  }

  #returnUnused(): void {
    if (this.#retainedChunks === 0 && this.#isReusable) releaseBuffer(this.buffer)
  }
}
