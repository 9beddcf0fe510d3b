const nothing = Buffer.alloc(0)

/** A body in memory, which takes at most about twice its bytes, however small its chunks are. */
export class JoinedChunks {
  #memory: Buffer = nothing
  #length = 0

  /** The first chunk must stay valid. */
  add(chunk: Buffer): void {
    const length = this.#length + chunk.length
    if (this.#length === 0) this.#memory = chunk
    else {
      if (length > this.#memory.length) {
        const larger = Buffer.allocUnsafeSlow(2 * length)
        this.#memory.copy(larger, 0, 0, this.#length)
        this.#memory = larger
      }
      chunk.copy(this.#memory, this.#length)
    }
    this.#length = length
  }

  /** Returns the whole body; a single chunk is not copied. To be called once, after the last chunk. */
  concat(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }
}
