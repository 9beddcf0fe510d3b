import type { Socket } from 'node:net'
import type { ConnectionOwner, ServedConnection } from '../http1/server/served-connection.ts'

/** First bytes of a client of HTTP/2 (RFC 9113, section 3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Distinguishes HTTP/2 without TLS from HTTP/1.1 by the first bytes of a connection. */
export class PrefaceReader implements ServedConnection {
  readonly isBusy = false
  readonly #socket: Socket
  readonly #owner: ConnectionOwner
  readonly #timeoutMs: number
  readonly #onDecision: (reader: PrefaceReader, isHttp2: boolean) => void
  readonly #since = performance.now()
  readonly #onTimeout: (reason: 'idle_timeout' | 'request_timeout') => void
  #received = Buffer.alloc(0)

  /** `onDecision` is called once, unless the connection is closed before; the socket is paused, with all its bytes. */
  constructor(
    socket: Socket,
    owner: ConnectionOwner,
    timeoutMs: number,
    onDecision: (reader: PrefaceReader, isHttp2: boolean) => void,
    onTimeout: (reason: 'idle_timeout' | 'request_timeout') => void,
  ) {
    this.#socket = socket
    this.#owner = owner
    this.#timeoutMs = timeoutMs
    this.#onDecision = onDecision
    this.#onTimeout = onTimeout
    socket
      .on('data', this.#onData)
      .on('end', this.#onEnd)
      // `close` follows.
      .on('error', () => undefined)
      .on('close', this.#onClose)
    // Something has been read before.
    if (socket.isPaused()) socket.resume()
  }

  drain(): void {
    // Nothing has been served.
  }

  revoke(): void {
    this.destroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  closeIfIdle(): boolean {
    this.destroy()
    return true
  }

  checkTimeouts(now: number): void {
    if (this.#socket.destroyed || now - this.#since <= this.#timeoutMs) return
    this.#onTimeout(this.#received.length === 0 ? 'idle_timeout' : 'request_timeout')
    this.destroy()
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#received = Buffer.concat([this.#received, bytes])
    const length = Math.min(preface.length, this.#received.length)
    const isPrefix = this.#received.subarray(0, length).equals(preface.subarray(0, length))
    if (isPrefix && length < preface.length) return
    this.#socket
      .off('data', this.#onData)
      .off('end', this.#onEnd)
      .off('close', this.#onClose)
      .pause()
      .unshift(this.#received)
    this.#onDecision(this, isPrefix)
  }

  readonly #onEnd = (): void => this.destroy()

  readonly #onClose = (): void => this.#owner.onClose(this)
}
