/** A part of a text that is replaced, or removed if the text is empty. Offsets are in the whole text. */
interface Edit {
  readonly from: number
  to: number
  readonly text: Buffer | undefined
}

/** Applies edits to a text that arrives in chunks. */
export class JsonEditor {
  #chunks: Buffer[] = []
  /** Offset of the first byte that is held. */
  #offset = 0
  /** Ordered by offset; the last cut may have no end yet. */
  readonly #edits: Edit[] = []

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  /** Removes a part behind all other edits and all taken bytes. */
  cut(from: number, to = Number.POSITIVE_INFINITY): void {
    this.#edits.push({ from, to, text: undefined })
  }

  /** Sets the end of the last cut. */
  endCut(to: number): void {
    const last = this.#edits.at(-1)
    if (last !== undefined) last.to = to
  }

  /** Replaces a part behind all other edits and all taken bytes. */
  replace(from: number, to: number, text: string): void {
    this.#edits.push({ from, to, text: Buffer.from(text) })
  }

  /** Inserts a text anywhere behind the taken bytes. */
  insert(at: number, text: string): void {
    const next = this.#edits.findIndex(({ from }) => from >= at)
    this.#edits.splice(next === -1 ? this.#edits.length : next, 0, {
      from: at,
      to: at,
      text: Buffer.from(text),
    })
  }

  /** Returns a part behind the taken bytes, edited so far. It is not taken. */
  read(from: number, to: number): Buffer {
    const part = new JsonEditor()
    part.#offset = from
    let begin = this.#offset
    for (const chunk of this.#chunks) {
      part.push(chunk.subarray(Math.max(0, from - begin), Math.max(0, to - begin)))
      begin += chunk.length
    }
    const last = this.#edits.findLastIndex((edit) => edit.from < from)
    part.#edits.push(...this.#edits.slice(last + 1))
    return Buffer.concat(part.takeUntil(to))
  }

  /** Returns the bytes before an offset, and forgets them. */
  takeUntil(to: number): Buffer[] {
    const taken: Buffer[] = []
    let chunk = this.#chunks[0]
    while (chunk !== undefined && this.#offset < to) {
      const end = Math.min(to, this.#offset + chunk.length)
      this.#takeFrom(chunk, end, taken)
      const rest = chunk.subarray(end - this.#offset)
      if (rest.length === 0) this.#chunks.shift()
      else this.#chunks[0] = rest
      this.#offset = end
      chunk = this.#chunks[0]
    }
    return taken
  }

  #takeFrom(chunk: Buffer, end: number, taken: Buffer[]): void {
    let from = this.#offset
    for (let edit = this.#edits[0]; edit !== undefined && edit.from < end; edit = this.#edits[0]) {
      if (edit.from > from) taken.push(chunk.subarray(from - this.#offset, edit.from - this.#offset))
      if (edit.text !== undefined && edit.from >= from) taken.push(edit.text)
      from = Math.max(from, Math.min(edit.to, end))
      if (edit.to > end) break
      this.#edits.shift()
    }
    if (from < end) taken.push(chunk.subarray(from - this.#offset, end - this.#offset))
  }
}
