import type { OnReadOpts } from 'node:net'
import { ownedBy, scheduleAtTickEnd, type TaskOwner } from '../../lib/index.ts'
import { PooledBuffer, sharedReadBuffer } from './pooled-buffer.ts'
import type { WriteCallback } from './message-writer.ts'

/** Smaller chunks are copied: that costs less than pausing the connection until they have been written. */
const smallBytes = 16 * 1024

export interface SocketReaderHandler extends TaskOwner {
  /** Whether a body is being read whose chunks are retained. */
  readonly retainsChunks: boolean
  /** The bytes are valid until this returns, unless they are retained. Returns whether to go on reading. */
  onRead(bytes: Buffer): boolean
  /** No chunk is in use any more: the socket may be resumed. Called at the end of a tick. */
  onUnblocked(): void
}

/**
 * Reads a socket into memory that is reused: a buffer that all sockets share, or a pooled buffer for a large body. While
 * chunks are in use, node reads nothing more, so the socket must only be resumed while the reader is not blocked, and at
 * the end of a tick: within a read, `resume` would take effect after the chunks of that read. A socket that emits `data`
 * instead is not affected: its bytes are neither copied nor retained.
 */
export class SocketReader {
  /** For the constructor of the socket. */
  readonly onread: OnReadOpts
  readonly #handler: SocketReaderHandler
  /** That of the next read, or of the current one: either the shared one or the pooled one. */
  #buffer: Buffer = sharedReadBuffer
  #pooled: PooledBuffer | undefined

  constructor(handler: SocketReaderHandler) {
    this.#handler = handler
    const onRead = ownedBy(handler, (size: number) => this.#onRead(size))
    this.onread = { buffer: () => this.#buffer, callback: (size) => onRead(size) ?? false }
  }

  /** Whether chunks are in use, so that the socket must be paused. */
  get isBlocked(): boolean {
    return this.#pooled?.isInUse === true
  }

  /**
   * Keeps bytes of the current read valid until the result is called, once. Undefined if they must be copied instead:
   * they are few, or not in a pooled buffer.
   */
  retain(bytes: Buffer): WriteCallback | undefined {
    const pooled = this.#pooled
    if (bytes.length <= smallBytes || bytes.buffer !== pooled?.buffer.buffer) return undefined
    const release = pooled.retain()
    return ownedBy(this.#handler, (error) => {
      release(error)
      if (pooled === this.#pooled && !pooled.isInUse) scheduleAtTickEnd(this.#handler, this.#onUnblocked)
    })
  }

  /** Returns the bytes in memory that is not reused. */
  copy(bytes: Buffer): Buffer {
    return bytes.buffer === this.#buffer.buffer ? Buffer.from(bytes) : bytes
  }

  /** To be called when the socket is closed. */
  close(): void {
    this.#pooled?.close()
    this.#pooled = undefined
  }

  #onRead(size: number): boolean {
    const goesOn = this.#handler.onRead(this.#buffer.subarray(0, size))
    this.#chooseBuffer(size)
    return goesOn && !this.isBlocked
  }

  #chooseBuffer(readBytes: number): void {
    const { retainsChunks } = this.#handler
    // A full read suggests a large body.
    const isLarge = retainsChunks && (this.#pooled !== undefined || readBytes === sharedReadBuffer.length)
    if (isLarge) this.#pooled ??= new PooledBuffer()
    else this.#endBody()
    this.#buffer = this.#pooled?.buffer ?? sharedReadBuffer
  }

  /** The next message does not wait for the last chunks of this one. */
  #endBody(): void {
    if (this.isBlocked) scheduleAtTickEnd(this.#handler, this.#onUnblocked)
    this.close()
  }

  /** Not at once, so that a connection with more to read than others is not read again and again. */
  readonly #onUnblocked = (): void => {
    if (!this.isBlocked) this.#handler.onUnblocked()
  }
}
