import type { Socket } from 'node:net'

/** Called once: when the system has a piece, or with an error where it never will. */
export type Written = (error?: Error | null) => void

interface Piece {
  readonly bytes: Buffer
  readonly written: Written | undefined
}

/** As text of one byte a character they go into one write with the head. */
const smallBytes = 16 * 1024

/**
 * Writes a head and its body to a connection, the body as it is or in chunks (RFC 9112, section 7.1). The pieces that
 * are given while one thing runs go out when it has ended, in one write and as one chunk: so it costs little that they
 * came in many.
 */
export class BodyWriter {
  readonly #socket: Socket
  readonly #isChunked: boolean
  /** What has not been written yet of the head. */
  #head: string
  #pieces: Piece[] = []
  #bytes = 0

  /** The head, of one byte a character, goes out with the first of the body, or with its end. */
  constructor(socket: Socket, head: string, isChunked: boolean) {
    this.#socket = socket
    this.#head = head
    this.#isChunked = isChunked
  }

  /** Answers whether the connection takes more at once; if not, its `drain` tells when it does. */
  write(bytes: Buffer, written?: Written): boolean {
    if (this.#pieces.length === 0) process.nextTick(() => this.#flush())
    this.#pieces.push({ bytes, written })
    this.#bytes += bytes.length
    const { writableLength, writableHighWaterMark } = this.#socket
    return writableLength + this.#bytes < writableHighWaterMark
  }

  /** Writes the last of the body: text is of one byte a character. */
  end(last: Buffer | string = ''): void {
    const isSmall = typeof last === 'string' || last.length <= smallBytes
    if (!isSmall) this.write(last)
    this.#flush()
    const text = isSmall ? last.toString('latin1') : ''
    const after = this.#isChunked ? (text === '' ? '0\r\n\r\n' : '\r\n0\r\n\r\n') : ''
    const rest = this.#begin(text.length) + text + after
    if (rest !== '') this.#socket.write(rest, 'latin1')
  }

  /** Gives to the connection what is still held back. */
  #flush(): void {
    if (this.#pieces.length === 0) return
    const socket = this.#socket
    socket.cork()
    const before = this.#begin(this.#bytes)
    if (before !== '') socket.write(before, 'latin1')
    for (const { bytes, written } of this.#pieces) socket.write(bytes, written)
    if (this.#isChunked) socket.write('\r\n', 'latin1')
    this.#pieces = []
    this.#bytes = 0
    socket.uncork()
  }

  /** What stands before so many bytes. */
  #begin(bytes: number): string {
    const head = this.#head
    this.#head = ''
    return this.#isChunked && bytes > 0 ? `${head}${bytes.toString(16)}\r\n` : head
  }
}
