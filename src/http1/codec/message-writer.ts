import type { Socket } from 'node:net'

/** Called once: when the chunk was written to the kernel, or with an error if it never will be. */
export type WriteCallback = (error?: Error | null) => void

interface PendingChunk {
  readonly bytes: Buffer
  readonly onWritten: WriteCallback | undefined
}

/** Smaller last chunks are written as text, in one write with the head. */
const smallBytes = 16 * 1024

/**
 * Writes one message to a socket: its head, and its body as it is or in the chunked coding (RFC 9112, section 7.1).
 * Chunks written within one tick are written together, and as one chunk of the coding.
 */
export class MessageWriter {
  readonly #socket: Socket
  readonly #isChunked: boolean
  /** The head, until it has been written. */
  #head: string
  #pending: PendingChunk[] = []
  #pendingBytes = 0

  /** `head` is latin1 text. It is written with the first chunk, or with the end. */
  constructor(socket: Socket, head: string, isChunked: boolean) {
    this.#socket = socket
    this.#head = head
    this.#isChunked = isChunked
  }

  /** Returns false if the buffer of the socket is full: the next chunk should wait for its `drain`. */
  write(bytes: Buffer, onWritten?: WriteCallback): boolean {
    if (this.#pending.length === 0) process.nextTick(() => this.#flush())
    this.#pending.push({ bytes, onWritten })
    this.#pendingBytes += bytes.length
    const { writableLength, writableHighWaterMark } = this.#socket
    return writableLength + this.#pendingBytes < writableHighWaterMark
  }

  /** Writes the last chunk and ends the message; text is latin1. */
  end(last: Buffer | string = ''): void {
    const isSmall = typeof last === 'string' || last.length <= smallBytes
    if (!isSmall) this.write(last)
    this.#flush()
    const text = isSmall ? last.toString('latin1') : ''
    const end = this.#isChunked ? (text === '' ? '0\r\n\r\n' : '\r\n0\r\n\r\n') : ''
    const rest = this.#start(text.length) + text + end
    if (rest !== '') this.#socket.write(rest, 'latin1')
  }

  #flush(): void {
    if (this.#pending.length === 0) return
    const socket = this.#socket
    socket.cork()
    const start = this.#start(this.#pendingBytes)
    if (start !== '') socket.write(start, 'latin1')
    for (const { bytes, onWritten } of this.#pending) socket.write(bytes, onWritten)
    if (this.#isChunked) socket.write('\r\n', 'latin1')
    this.#pending = []
    this.#pendingBytes = 0
    socket.uncork()
  }

  /** The text in front of that many bytes of the body. */
  #start(bytes: number): string {
    const head = this.#head
    this.#head = ''
    return this.#isChunked && bytes > 0 ? `${head}${bytes.toString(16)}\r\n` : head
  }
}
