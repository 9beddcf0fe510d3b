import { acquireBuffer, releaseBuffer } from './buffer-pool.ts'

/** Holds one response; counts the chunks in it that are in use. */
export class PooledBuffer {
  readonly buffer = acquireBuffer()
  readonly #onUnused: () => void
  #retainedChunks = 0
  #isClosed = false

  /** `onUnused` is called each time when no chunk is in use any more. */
  constructor(onUnused: () => void) {
    this.#onUnused = onUnused
  }

  get isInUse(): boolean {
    return this.#retainedChunks > 0
  }

  /** Counts a chunk. Call the result once, when the chunk is not used any more. */
  retain(): () => void {
    this.#retainedChunks += 1
    return () => {
      this.#retainedChunks -= 1
      if (this.#retainedChunks > 0) return
      if (this.#isClosed) releaseBuffer(this.buffer)
      else this.#onUnused()
    }
  }

  /** The buffer returns to the pool when no chunk is in use any more. */
  close(): void {
    this.#isClosed = true
    if (this.#retainedChunks === 0) releaseBuffer(this.buffer)
  }
}
