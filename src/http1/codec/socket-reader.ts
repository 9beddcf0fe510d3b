import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net'
import { TLSSocket } from 'node:tls'
import { ownedBy, scheduleAtTickEnd, type TaskOwner } from '../../lib/index.ts'
import type { WriteCallback } from './message-writer.ts'

/** Smaller chunks are copied: that costs less than pausing the connection until they have been written. */
const smallBytes = 16 * 1024

/** Shared by all connections for small reads: each has consumed or copied its bytes before the next one reads. */
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024)

const largeBytes = 1024 * 1024
const maxPooled = 16
const pooled: Buffer[] = []

/** A buffer of the pool; counts the chunks in it that are in use. */
class PooledBuffer {
  readonly buffer = pooled.pop() ?? Buffer.allocUnsafeSlow(largeBytes)
  #retainedChunks = 0
  #isClosed = false
  #isReusable = true

  get isInUse(): boolean {
    return this.#retainedChunks > 0
  }

  /**
   * Counts a chunk. Call the result once, when the chunk is not used any more: as the callback of its write. With an
   * error, the memory never returns to the pool.
   */
  retain(): WriteCallback {
    this.#retainedChunks += 1
    return (error) => {
      if (error) this.#isReusable = false
      this.#retainedChunks -= 1
      if (this.#isClosed) this.#returnUnused()
    }
  }

  /** Nothing is read into the buffer any more. It returns to the pool when no chunk is in use any more. */
  close(): void {
    this.#isClosed = true
    this.#returnUnused()
  }

  #returnUnused(): void {
    if (!this.isInUse && this.#isReusable && pooled.length < maxPooled) pooled.push(this.buffer)
  }
}

export interface SocketReaderHandler extends TaskOwner {
  /** Whether a body is being read whose chunks are retained. */
  readonly retainsChunks: boolean
  /** Whether nothing more is to be read for now. */
  readonly wantsPause: boolean
  /** The bytes are valid until this returns, unless they are retained. */
  onBytes(bytes: Buffer): void
}

/**
 * Reads a socket into memory that is reused: a buffer that all sockets share, or a pooled buffer for a large body. While
 * chunks are in use, nothing more is read. A socket that emits `data` instead is not affected: its bytes are neither copied
 * nor retained.
 */
export class SocketReader {
  /** For the constructor of the socket. */
  readonly onread: OnReadOpts
  readonly #handler: SocketReaderHandler
  readonly #onBytes: (bytes: Buffer) => void
  #socket: Socket | undefined
  /** That of the next read, or of the current one: either the shared one or the pooled one. */
  #buffer: Buffer = sharedBuffer
  #pooled: PooledBuffer | undefined

  constructor(handler: SocketReaderHandler) {
    this.#handler = handler
    this.#onBytes = ownedBy(handler, (bytes: Buffer) => handler.onBytes(bytes))
    this.onread = { buffer: () => this.#buffer, callback: (size) => this.#onRead(size) }
  }

  /** Whether nothing is read: chunks are in use, or the handler wants a pause. */
  get isBlocked(): boolean {
    return this.#isInUse || this.#handler.wantsPause
  }

  get #isInUse(): boolean {
    return this.#pooled?.isInUse === true
  }

  /** Reads a socket that has `onread`, or emits `data`. */
  attach(socket: Socket): void {
    this.#socket = socket.on('data', this.#onBytes)
  }

  /**
   * Reads an accepted socket. Returns its replacement; the accepted one closes after it, so that its server counts it.
   * Returns the accepted socket itself, which emits `data`, if it has TLS, if it is being read already, or if node does
   * not have the property `_handle`, which is not documented: `net.createServer` has no option for it.
   */
  accept(accepted: Socket): Socket {
    const isFresh = !(accepted instanceof TLSSocket) && accepted.readableFlowing === null
    let socket = accepted
    if (isFresh && '_handle' in accepted && accepted._handle) {
      const { _handle: handle, allowHalfOpen } = accepted
      const { onread } = this
      const options: SocketConstructorOpts & { readonly handle: unknown } = { handle, allowHalfOpen, onread }
      accepted._handle = null
      socket = new Socket(options).once('close', () => accepted.destroy())
    }
    this.attach(socket)
    return socket
  }

  /** Pauses the socket at once, or resumes it at the end of the tick: within a read, `resume` would take effect behind it. */
  applyFlowControl(): void {
    const { isBlocked } = this
    if (this.#socket === undefined || isBlocked === this.#socket.isPaused()) return
    if (isBlocked) this.#socket.pause()
    else scheduleAtTickEnd(this.#handler, this.#resume)
  }

  /**
   * Keeps bytes of the current read valid until the result is called, once. Undefined if they must be copied instead:
   * they are few, or not in a pooled buffer.
   */
  retain(bytes: Buffer): WriteCallback | undefined {
    const pooled = this.#pooled
    if (!this.#handler.retainsChunks || bytes.length <= smallBytes) return undefined
    if (bytes.buffer !== pooled?.buffer.buffer) return undefined
    const release = pooled.retain()
    return ownedBy(this.#handler, (error) => {
      release(error)
      if (pooled === this.#pooled && !pooled.isInUse) scheduleAtTickEnd(this.#handler, this.#resume)
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
    this.#onBytes(this.#buffer.subarray(0, size))
    this.#chooseBuffer(size)
    return !this.#isInUse
  }

  #chooseBuffer(readBytes: number): void {
    // A full read suggests a large body.
    const isLarge =
      this.#handler.retainsChunks && (this.#pooled !== undefined || readBytes === sharedBuffer.length)
    if (isLarge) this.#pooled ??= new PooledBuffer()
    else this.#endBody()
    this.#buffer = this.#pooled?.buffer ?? sharedBuffer
  }

  /** The next message does not wait for the last chunks of this one. */
  #endBody(): void {
    if (this.#isInUse) scheduleAtTickEnd(this.#handler, this.#resume)
    this.close()
  }

  /** Not at once, so that a connection with more to read than others is not read again and again. */
  readonly #resume = (): void => {
    if (!this.isBlocked) this.#socket?.resume()
  }
}
