import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net'
import { TLSSocket } from 'node:tls'
import { ownedBy, scheduleAtTickEnd, type TaskOwner } from '../../lib/index.ts'
import { SocketReader, type SocketReaderHandler } from '../codec/socket-reader.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Once as many bytes cannot be parsed yet, nothing more is read. The end of the connection is noticed until then. */
const maxUnparsedBytes = 16 * 1024

export interface ConnectionInputHandler extends TaskOwner {
  /** The request whose body is being received. */
  readonly receiving: IncomingRequest | undefined
  /** The bytes are valid until this returns. Those that are appended to the input are copied. */
  onBytes(bytes: Buffer): void
}

/** The input of a connection: its socket, and received bytes that cannot be parsed yet. */
export class ConnectionInput implements SocketReaderHandler {
  readonly socket: Socket
  readonly #handler: ConnectionInputHandler
  readonly #reader = new SocketReader(this)
  #unparsed: Buffer | undefined

  constructor(accepted: Socket, handler: ConnectionInputHandler) {
    this.#handler = handler
    this.socket = acceptSocket(accepted, this.#reader.onread).on('data', ownedBy(handler, this.#onData))
  }

  get retainsChunks(): boolean {
    return this.#handler.receiving?.releasesChunks === true
  }

  get isEmpty(): boolean {
    return this.#unparsed === undefined
  }

  append(bytes: Buffer): void {
    this.#unparsed = this.#unparsed === undefined ? bytes : Buffer.concat([this.#unparsed, bytes])
  }

  /** Removes all bytes from the input. */
  take(): Buffer | undefined {
    const bytes = this.#unparsed
    this.#unparsed = undefined
    return bytes
  }

  /** Passes bytes of the body to the request that is being received. */
  pass(chunk: Buffer): void {
    const release = this.retainsChunks ? this.#reader.retain(chunk) : undefined
    this.#handler.receiving?.receive(release ? chunk : this.#reader.copy(chunk), release)
  }

  /** Pauses the socket at once, or resumes it at the end of the tick, as needed. */
  applyFlowControl(): void {
    const isBlocked = this.#isBlocked()
    if (isBlocked === this.socket.isPaused()) return
    if (isBlocked) this.socket.pause()
    else scheduleAtTickEnd(this, () => this.onUnblocked())
  }

  fail(error: Error): void {
    this.#handler.fail(error)
  }

  /** To be called when the socket is closed. */
  close(): void {
    this.#reader.close()
  }

  onRead(bytes: Buffer): boolean {
    this.#onData(bytes)
    return true
  }

  onUnblocked(): void {
    if (!this.#isBlocked()) this.socket.resume()
  }

  #isBlocked(): boolean {
    const { receiving } = this.#handler
    const isPaused = receiving?.releasesChunks === true && !receiving.wantsBody
    return isPaused || (this.#unparsed?.length ?? 0) >= maxUnparsedBytes || this.#reader.isBlocked
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#handler.onBytes(bytes)
    if (this.#unparsed !== undefined) this.#unparsed = this.#reader.copy(this.#unparsed)
  }
}

/**
 * Makes an accepted socket read into the buffers of `onread`. Returns the socket to be used in place of the accepted one,
 * which is closed with it, so that its server counts it. Returns the accepted socket itself, which emits `data`, if it
 * has TLS, if it is being read already, or if node does not have the property `_handle`, which is not documented:
 * `net.createServer` has no option for it.
 */
function acceptSocket(accepted: Socket, onread: OnReadOpts): Socket {
  const isFresh = !(accepted instanceof TLSSocket) && accepted.readableFlowing === null
  if (!isFresh || !('_handle' in accepted) || !accepted._handle) return accepted
  const { _handle: handle, allowHalfOpen } = accepted
  const options: SocketConstructorOpts & { readonly handle: unknown } = { handle, allowHalfOpen, onread }
  accepted._handle = null
  return new Socket(options).once('close', () => accepted.destroy())
}
