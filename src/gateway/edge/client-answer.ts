import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { BodyWriter, type Written } from '../http/body-writer.ts'
import { isHeaderField } from '../http/header-fields.ts'
import { httpDate } from './http-date.ts'
import type { ClientRequest } from './client-request.ts'
import { Listeners } from './listeners.ts'

/** They say where an answer ends and what becomes of its connection: nobody else writes them. */
const own: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding'])

/** Whose answer it is, and what the connection does with it. */
interface AnswerOwner {
  /** Seconds for which the client may wait with its next request. */
  readonly keepAliveSeconds: number
  /** Whether the connection is so old that it is closed behind the next answer. */
  readonly isAged: boolean
  /** The answer is over; whole, or cut off with its connection. */
  answered(): void
}

/** The answer to a request. */
export class ClientAnswer {
  readonly request: ClientRequest
  /** Told once, when all of it has been given to the system or the connection has closed. */
  readonly closing = new Listeners()
  /** Told when it takes more after `write` answered false. */
  readonly draining = new Listeners()
  /** 0 before the head is known. */
  status = 0
  /** Whether the client may send its next request over the connection; to be changed before the head is written. */
  keepsAlive: boolean
  readonly #owner: AnswerOwner
  readonly #socket: Socket
  #state: 'open' | 'ended' | 'whole' | 'destroyed' = 'open'
  #body: 'sized' | 'chunked' | 'until closed' | 'none' = 'none'
  #left = 0
  #isContinued = false
  /** As soon as the head is known. */
  #writer: BodyWriter | undefined

  constructor(request: ClientRequest, owner: AnswerOwner) {
    this.request = request
    this.keepsAlive = request.head.isPersistent
    this.#owner = owner
    this.#socket = request.socket
  }

  /** Whether its head is known, and cannot be another. */
  get hasHead(): boolean {
    return this.status !== 0
  }

  /** Whether all of it has been given to the system. */
  get isWhole(): boolean {
    return this.#state === 'whole'
  }

  /** Whether its connection is closed, or about to be. */
  get isDestroyed(): boolean {
    return this.#state === 'destroyed'
  }

  /** Tells the client to send the body that it holds back. */
  writeContinue(): void {
    if (this.#state !== 'open' || this.hasHead) return
    this.#isContinued = true
    this.#socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
  }

  /**
   * The head: it goes out with the first of the body, or with the end. The headers are names in lower case and values,
   * in turn; those of the connection are written here. Throws for what would not be one head any more.
   */
  writeHead(status: number, headers: readonly string[]): void {
    if (this.hasHead || this.#state !== 'open') return
    const { method, version, expectsContinue } = this.request.head
    // Only the client knows whether it still sends the body that it holds back, so nothing behind it can be read.
    if (expectsContinue && !this.#isContinued && !this.request.isComplete) this.keepsAlive = false
    let length: string | undefined
    let isDated = false
    // RFC 9110, section 8.6, forbids a length for 204. For 304 it would be that of another response, which only the
    // upstream knows.
    const isBodiless = status === 204 || status === 304
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? ''
      const value = headers[index + 1] ?? ''
      if (own.has(name) || !isHeaderField(name, value)) throw new Error(`the header ${name} cannot be sent`)
      if (name === 'content-length') {
        if (isBodiless) continue
        length = value
      }
      if (name === 'date') isDated = true
      text += `${name}: ${value}\r\n`
    }
    if (method === 'HEAD' || isBodiless) this.#body = 'none'
    else if (length !== undefined) this.#body = 'sized'
    else if (version === '1.1') this.#body = 'chunked'
    else this.#body = 'until closed'
    this.#left = Number(length ?? 0)
    if (this.#body === 'until closed' || this.#owner.isAged) this.keepsAlive = false
    if (this.#body === 'chunked') text += 'transfer-encoding: chunked\r\n'
    text += this.keepsAlive
      ? `connection: keep-alive\r\nkeep-alive: timeout=${this.#owner.keepAliveSeconds}\r\n`
      : 'connection: close\r\n'
    this.status = status
    // Whoever made the answer says when (RFC 9110, section 6.6.1).
    const head = isDated ? `${text}\r\n` : `${text}date: ${httpDate()}\r\n\r\n`
    this.#writer = new BodyWriter(this.#socket, head, this.#body === 'chunked')
  }

  /** Sends a piece of the body. Answers whether it takes more at once; `written` is called when the system has it. */
  write(piece: Buffer, written?: Written): boolean {
    if (this.#state !== 'open' || this.#writer === undefined) {
      written?.(new Error('the answer is over'))
      return true
    }
    if (this.#body === 'none' || piece.length === 0) {
      written?.()
      return true
    }
    // More than it said would be read as the next answer.
    if (this.#body === 'sized' && piece.length > this.#left) this.destroy()
    if (this.#socket.destroyed) {
      written?.(new Error('the connection is closed'))
      return true
    }
    this.#left -= piece.length
    return this.#writer.write(piece, written)
  }

  /** Ends it, with the last of its body: text is of one byte a character. Cuts it off where that is not all of it. */
  end(last: Buffer | string = ''): void {
    if (this.#state !== 'open') return
    if (this.#writer === undefined) throw new Error('the answer has no head')
    const bytes = this.#body === 'none' ? 0 : last.length
    if ((this.#body === 'sized' && this.#left !== bytes) || this.#socket.destroyed) {
      this.destroy()
      return
    }
    this.#state = 'ended'
    this.#writer.end(bytes === 0 ? '' : last)
    // What the system took at once is written when it returns.
    if (this.#socket.writableLength === 0) this.#finish()
    else this.#socket.write('', 'latin1', (error) => this.#written(error))
  }

  /**
   * Closes the connection, so that half an answer never looks whole: with a reset where the end of the connection would
   * be that of the answer. TLS is then not closed in order, which says the same.
   */
  destroy(): void {
    const needsReset = this.#body === 'until closed' && !(this.#socket instanceof TLSSocket)
    if (needsReset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    this.closed()
  }

  /** For the connection: it is closed. */
  closed(): void {
    if (this.#state === 'whole' || this.#state === 'destroyed') return
    this.#state = 'destroyed'
    this.closing.tell()
    this.#owner.answered()
  }

  /** Where the connection was closed meanwhile, node tells of no error, whatever was written. */
  #written(error: Error | null | undefined): void {
    if (error || this.#socket.destroyed) this.destroy()
    else this.#finish()
  }

  #finish(): void {
    if (this.#state !== 'ended') return
    this.#state = 'whole'
    this.closing.tell()
    this.#owner.answered()
  }
}
