/** Gives back a text that comes in pieces, without what is cut out of it. Places are offsets in the whole text. */
export class JsonEdit {
  #held: Buffer[] = []
  /** Where the first byte that is held stands. */
  #at = 0
  /** In their order; the last one may have no end yet. */
  readonly #cuts: { readonly from: number; to: number }[] = []

  /** Holds the next piece. */
  push(piece: Buffer): void {
    this.#held.push(piece)
  }

  /** Cuts out what stands there: nothing that was given back, and behind every other cut. */
  cut(from: number, to = Number.POSITIVE_INFINITY): void {
    this.#cuts.push({ from, to })
  }

  /** Ends the last cut, where its end was not known. */
  endCut(to: number): void {
    const last = this.#cuts.at(-1)
    if (last !== undefined) last.to = to
  }

  /** Gives back, once, what stands before that place. */
  take(to: number): Buffer[] {
    const taken: Buffer[] = []
    let piece = this.#held[0]
    while (piece !== undefined && this.#at < to) {
      const end = Math.min(to, this.#at + piece.length)
      this.#takeFrom(piece, end, taken)
      const rest = piece.subarray(end - this.#at)
      if (rest.length === 0) this.#held.shift()
      else this.#held[0] = rest
      this.#at = end
      piece = this.#held[0]
    }
    return taken
  }

  #takeFrom(piece: Buffer, end: number, taken: Buffer[]): void {
    let from = this.#at
    for (let cut = this.#cuts[0]; cut !== undefined && cut.from < end; cut = this.#cuts[0]) {
      if (cut.from > from) taken.push(piece.subarray(from - this.#at, cut.from - this.#at))
      from = Math.min(cut.to, end)
      if (cut.to > end) break
      this.#cuts.shift()
    }
    if (from < end) taken.push(piece.subarray(from - this.#at, end - this.#at))
  }
}
