/** A part of a text that remains, or a new text in its place. Offsets are in the whole text. */
interface Piece {
  from: number
  /** Where what it stands for ends; a new text stands for nothing. */
  to: number
  readonly bytes: Buffer
  /** Offset of the first of the bytes; undefined for a new text. */
  readonly begin: number | undefined
}

/**
 * Edits a text that arrives in chunks, near the place where it is read: little is behind an edit. All work is linear in the
 * text and its edits, however both are distributed: those that send the text choose that.
 */
export class JsonEditor {
  /** In order; those before `#first` are taken. */
  #pieces: Piece[] = []
  #first = 0
  #end = 0

  push(chunk: Buffer): void {
    const from = this.#end
    this.#end += chunk.length
    this.#pieces.push({ from, to: this.#end, bytes: chunk, begin: from })
  }

  /** Replaces a part, with all edits in it; an empty text removes it. Nothing that remains of it was taken. */
  replace(from: number, to: number, text: string): void {
    const behind: Piece[] = []
    let last = this.#pieces.pop()
    for (; last !== undefined && last.from >= to; last = this.#pieces.pop()) behind.push(last)
    if (last !== undefined && last.to > to) {
      const { bytes, begin } = last
      behind.push({ from: to, to: last.to, bytes, begin })
    }
    while (last !== undefined && last.from > from) last = this.#pieces.pop()
    if (last !== undefined && last.from < from) {
      last.to = Math.min(last.to, from)
      this.#pieces.push(last)
    }
    if (text !== '') this.#pieces.push({ from, to: from, bytes: Buffer.from(text), begin: undefined })
    for (let piece = behind.pop(); piece !== undefined; piece = behind.pop()) this.#pieces.push(piece)
  }

  /** Inserts a text anywhere behind the taken bytes, after all other edits. */
  insert(at: number, text: string): void {
    const index = this.#pieces.findLastIndex(({ from }) => from < at)
    const piece = this.#pieces[index]
    const inserted = { from: at, to: at, bytes: Buffer.from(text), begin: undefined }
    if (piece === undefined || piece.to <= at) this.#pieces.splice(index + 1, 0, inserted)
    else this.#pieces.splice(index, 1, { ...piece, to: at }, inserted, { ...piece, from: at })
  }

  /** Returns a part behind the taken bytes, edited so far, up to what was read last. It is not taken. */
  read(from: number, to: number): string {
    const first = this.#pieces.findLastIndex((piece) => piece.from <= from)
    const parts = this.#pieces.slice(first).map((piece) => cut(piece, Math.max(piece.from, from), to))
    return Buffer.concat(parts).toString()
  }

  /** Returns the bytes before an offset, and forgets them. */
  takeUntil(to: number): Buffer[] {
    const taken: Buffer[] = []
    for (
      let piece = this.#pieces[this.#first];
      piece !== undefined && piece.from < to;
      piece = this.#pieces[this.#first]
    ) {
      const bytes = cut(piece, piece.from, to)
      if (bytes.length > 0) taken.push(bytes)
      if (piece.to > to) piece.from = to
      else this.#first += 1
    }
    // What remains is moved only if it is shorter than what was taken, so that moving stays linear.
    if (this.#first * 2 >= this.#pieces.length) {
      this.#pieces = this.#pieces.slice(this.#first)
      this.#first = 0
    }
    return taken
  }
}

/** A new text is never cut: it takes the place of something that is not read in parts. */
function cut({ bytes, begin, to: end }: Piece, from: number, to: number): Buffer {
  return begin === undefined ? bytes : bytes.subarray(from - begin, Math.min(end, to) - begin)
}
