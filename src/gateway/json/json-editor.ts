/** A part of a text that is replaced, or removed if there is no text. Offsets are in the whole text. */
interface Edit {
  readonly from: number
  readonly to: number
  readonly text: Buffer | undefined
}

interface HeldChunk {
  /** Offset of its first byte in the whole text. */
  readonly from: number
  readonly bytes: Buffer
}

/**
 * Applies edits to a text that arrives in chunks. All work is linear in the text and its edits, however both are
 * distributed: those that send the text choose that.
 */
export class JsonEditor {
  /** Without a gap; those before `#firstChunk` are taken. */
  #chunks: HeldChunk[] = []
  #firstChunk = 0
  /** Ordered by offset; the last one may have no end yet. Those before `#firstEdit` are taken. */
  #edits: Edit[] = []
  #firstEdit = 0
  /** Offset of the first byte that is held. */
  #offset = 0
  #end = 0

  push(chunk: Buffer): void {
    this.#chunks.push({ from: this.#end, bytes: chunk })
    this.#end += chunk.length
  }

  /**
   * Replaces a part, with all edits in it and behind it; an empty text removes it. Nothing of it was taken, unless it is
   * the last part that was removed, then without an end.
   */
  replace(from: number, to: number, text: string): void {
    while ((this.#edits.at(-1)?.from ?? -1) >= from) this.#edits.pop()
    this.#edits.push({ from, to, text: text === '' ? undefined : Buffer.from(text) })
  }

  /** Inserts a text anywhere behind the taken bytes. */
  insert(at: number, text: string): void {
    const previous = this.#edits.findLastIndex(({ from }) => from < at)
    this.#edits.splice(previous + 1, 0, { from: at, to: at, text: Buffer.from(text) })
  }

  /** Returns a part behind the taken bytes, edited so far. It is not taken. */
  read(from: number, to: number): Buffer {
    const part = new JsonEditor()
    part.#offset = from
    part.#end = from
    // Parts that were read last are at the end.
    const first = this.#chunks.findLastIndex((chunk) => chunk.from <= from)
    for (const { from: begin, bytes } of this.#chunks.slice(first)) {
      part.push(bytes.subarray(Math.max(0, from - begin), Math.max(0, to - begin)))
    }
    part.#edits = this.#edits.slice(this.#edits.findLastIndex((edit) => edit.from < from) + 1)
    return Buffer.concat(part.takeUntil(to))
  }

  /** Returns the bytes before an offset, and forgets them. */
  takeUntil(to: number): Buffer[] {
    const taken: Buffer[] = []
    let chunk = this.#chunks[this.#firstChunk]
    while (chunk !== undefined && this.#offset < to) {
      const { from, bytes } = chunk
      const end = Math.min(to, from + bytes.length)
      this.#takeFrom(chunk, end, taken)
      this.#offset = end
      if (end === from + bytes.length) this.#firstChunk += 1
      else break
      chunk = this.#chunks[this.#firstChunk]
    }
    this.#removeTaken()
    return taken
  }

  #takeFrom({ from: begin, bytes }: HeldChunk, end: number, taken: Buffer[]): void {
    let from = this.#offset
    for (
      let edit = this.#edits[this.#firstEdit];
      edit !== undefined && edit.from < end;
      edit = this.#edits[this.#firstEdit]
    ) {
      if (edit.from > from) taken.push(bytes.subarray(from - begin, edit.from - begin))
      if (edit.text !== undefined && edit.from >= from) taken.push(edit.text)
      from = Math.max(from, Math.min(edit.to, end))
      if (edit.to > end) break
      this.#firstEdit += 1
    }
    if (from < end) taken.push(bytes.subarray(from - begin, end - begin))
  }

  /** What remains of a list is moved only if it is shorter than what was taken, so that moving stays linear. */
  #removeTaken(): void {
    if (this.#firstChunk * 2 >= this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#firstChunk)
      this.#firstChunk = 0
    }
    if (this.#firstEdit * 2 >= this.#edits.length) {
      this.#edits = this.#edits.slice(this.#firstEdit)
      this.#firstEdit = 0
    }
  }
}
