/** Smaller chunks are joined: each takes some 100 bytes besides its own, and may keep a larger buffer in memory. */
const joinedBytes = 4 * 1024

/** A body in memory, which takes at most about twice its bytes, however small its chunks are. */
export class JoinedChunks {
  readonly #chunks: Buffer[] = []
  /** The last chunk, if more may be joined to it, and how much of it is used. */
  #tail: Buffer | undefined
  #used = 0

  /** The chunk must stay valid, unless it is small and not the first one. */
  add(chunk: Buffer): void {
    if (this.#chunks.length === 0 || chunk.length >= joinedBytes) {
      this.#endTail()
      this.#chunks.push(chunk)
      return
    }
    if (this.#tail === undefined || this.#used + chunk.length > this.#tail.length) {
      this.#endTail()
      this.#tail = Buffer.allocUnsafeSlow(joinedBytes)
      this.#chunks.push(this.#tail)
    }
    this.#used += chunk.copy(this.#tail, this.#used)
  }

  /** Returns the whole body; a single chunk is not copied. To be called once, after the last chunk. */
  concat(): Buffer {
    this.#endTail()
    const [first] = this.#chunks
    return first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks)
  }

  #endTail(): void {
    if (this.#tail !== undefined) this.#chunks[this.#chunks.length - 1] = this.#tail.subarray(0, this.#used)
    this.#tail = undefined
    this.#used = 0
  }
}
