const usualHeadBytes = 2 * 1024

/** The beginning of a head that arrives in parts. */
export class PartialHead {
  /** All bytes so far. */
  bytes = Buffer.alloc(0)
  #memory = Buffer.alloc(0)

  /** Adds a copy of the bytes from an offset on. Returns all bytes so far. */
  append(added: Buffer, from: number): Buffer {
    const before = this.bytes
    const length = before.length + added.length - from
    if (length > this.#memory.length) {
      this.#memory = Buffer.allocUnsafe(Math.max(usualHeadBytes, 2 * length))
      before.copy(this.#memory)
    }
    added.copy(this.#memory, before.length, from)
    this.bytes = this.#memory.subarray(0, length)
    return this.bytes
  }
}
