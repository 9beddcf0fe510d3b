import { checkHeadLines, checkPartialLine } from './response-head.ts'
import { badResponse } from './transport-error.ts'

export const maxHeadBytes = 64 * 1024
export const headEnd = Buffer.from('\r\n\r\n')

const lineEnd = Buffer.from('\r\n')
const headStart = Buffer.from('HTTP/1.')

/** Collects a head that arrives in parts. An invalid line is reported at once: the end of the head may never arrive. */
export class PartialHead {
  readonly #bytes = Buffer.allocUnsafe(maxHeadBytes)
  #length = 0
  /** The lines before this offset have been checked. */
  #lineStart = 0

  /**
   * Appends bytes from an offset on. Returns the head without its end, if it is complete, and the offset behind it. Throws
   * TransportError for a head that is too large, or cannot become valid.
   */
  append(bytes: Buffer, from: number): { readonly text: string | undefined; readonly end: number } {
    const before = this.#length
    const copied = bytes.copy(this.#bytes, before, from)
    this.#length += copied
    const known = this.#bytes.subarray(0, this.#length)
    const end = known.indexOf(headEnd, Math.max(0, before - headEnd.length + 1))
    if (end !== -1)
      return { text: known.toString('latin1', 0, end), end: from + end + headEnd.length - before }
    this.#check(known, before)
    if (this.#length === maxHeadBytes) throw createHeadTooLarge()
    return { text: undefined, end: from + copied }
  }

  #check(known: Buffer, before: number): void {
    const compared = Math.min(headStart.length, known.length)
    if (known.compare(headStart, 0, compared, 0, compared) !== 0)
      throw badResponse('the response is not of HTTP/1.1')
    // A CRLF may have arrived in two parts.
    const from = Math.max(this.#lineStart, before - 1)
    const found = known.subarray(from).lastIndexOf(lineEnd)
    if (found !== -1) {
      const end = from + found
      checkHeadLines(known.toString('latin1', this.#lineStart, end), this.#lineStart === 0)
      this.#lineStart = end + lineEnd.length
    }
    checkPartialLine(known.toString('latin1', Math.max(this.#lineStart, before - 1)))
  }
}

export function createHeadTooLarge(): Error {
  return badResponse('the head of the response is too large')
}
