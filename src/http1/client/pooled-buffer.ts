import { acquireBuffer, releaseBuffer } from './buffer-pool.ts'

/** A buffer from the pool that one response is read into; counts the chunks in it that are in use. */
export class PooledBuffer {
  readonly buffer = acquireBuffer()
  readonly #onUnused: () => void
  #chunks = 0
  #isClosed = false

  /** `onUnused` is called each time when no chunk is in use any more. */
  constructor(onUnused: () => void) {
    this.#onUnused = onUnused
  }

  get isInUse(): boolean {
    return this.#chunks > 0
  }

  /** Counts a chunk. Call the result once, when the chunk is not used any more. */
  retain(): () => void {
    this.#chunks += 1
    return () => {
      this.#chunks -= 1
      if (this.#chunks > 0) return
      if (this.#isClosed) releaseBuffer(this.buffer)
      else this.#onUnused()
    }
  }

  /** Ends reading into it. It returns to the pool when no chunk is in use any more. */
  close(): void {
    this.#isClosed = true
    if (this.#chunks === 0) releaseBuffer(this.buffer)
  }
}
