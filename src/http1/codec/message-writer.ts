import type { Socket } from 'node:net'
import { ownedBy, type TaskOwner } from '../../lib/index.ts'

/** Called once: when the chunk was written to the kernel, or with an error if it never will be. */
export type WriteCallback = (error?: Error | null) => void

interface PendingChunk {
  readonly bytes: Buffer
  readonly onWritten: WriteCallback | undefined
}

/** Smaller last chunks are written as text, in one write with the head. */
const smallBytes = 16 * 1024

/** Writes the head and the body of a message. Chunks of one tick become one write, and one chunk of the coding. */
export class MessageWriter {
  readonly #owner: TaskOwner
  readonly #socket: Socket
  readonly #isChunked: boolean
  #head: string
  #pending: PendingChunk[] = []
  #pendingBytes = 0

  /** `head` is latin1 text. It is written with the first chunk, or with the end. */
  constructor(owner: TaskOwner, socket: Socket, head: string, isChunked: boolean) {
    this.#owner = owner
    this.#socket = socket
    this.#head = head
    this.#isChunked = isChunked
  }

  /** Returns false if the buffer of the socket is full: the next chunk should wait for its `drain`. */
  write(bytes: Buffer, onWritten?: WriteCallback): boolean {
    if (this.#pending.length === 0) process.nextTick(ownedBy(this.#owner, () => this.#flush()))
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
    const rest = this.#takePrefix(text.length) + text + end
    if (rest !== '') this.#socket.write(rest, 'latin1')
  }

  #flush(): void {
    if (this.#pending.length === 0) return
    const socket = this.#socket
    socket.cork()
    const prefix = this.#takePrefix(this.#pendingBytes)
    if (prefix !== '') socket.write(prefix, 'latin1')
    for (const { bytes, onWritten } of this.#pending) socket.write(bytes, onWritten)
    if (this.#isChunked) socket.write('\r\n', 'latin1')
    this.#pending = []
    this.#pendingBytes = 0
    socket.uncork()
  }

  #takePrefix(chunkBytes: number): string {
    const head = this.#head
    this.#head = ''
    return this.#isChunked && chunkBytes > 0 ? `${head}${chunkBytes.toString(16)}\r\n` : head
  }
}
