import { borrowBuffer, giveBackBuffer } from './read-buffers.ts'

/** A large buffer that one exchange reads into, and those who still hold pieces of it. */
export class Loan {
  readonly buffer = borrowBuffer()
  readonly #allReturned: () => void
  #held = 0
  #isOver = false

  /** `allReturned` is called each time that nobody holds a piece any more. */
  constructor(allReturned: () => void) {
    this.#allReturned = allReturned
  }

  get isHeld(): boolean {
    return this.#held > 0
  }

  /** Lends a piece; what is returned gives it back. */
  lend(): () => void {
    this.#held += 1
    return () => {
      this.#held -= 1
      if (this.#held > 0) return
      if (this.#isOver) giveBackBuffer(this.buffer)
      else this.#allReturned()
    }
  }

  /** The exchange reads no more; the buffer goes to others when its last piece is back. */
  end(): void {
    this.#isOver = true
    if (this.#held === 0) giveBackBuffer(this.buffer)
  }
}
