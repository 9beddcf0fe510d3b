import type { Socket } from 'node:net'
import type { AnswerHead } from './answer-head.ts'
import { atEndOfTurn } from '../../end-of-turn.ts'
import { BodyWriter } from '../../http/body-writer.ts'
import { AnswerReader } from './answer-reader.ts'
import type { Connector } from './connector.ts'
import type { Carrier, Exchange } from './exchange-control.ts'
import { Loan } from './loan.ts'
import { sharedBuffer } from './read-buffers.ts'
import { requestHead, type RequestHead } from './request-head.ts'
import { sendBody } from './send-body.ts'
import { ExchangeTimedOut, TransportError } from './transport-error.ts'

/** How long a connection waits, in milliseconds. */
export interface Patience {
  /** To connect, TLS included. */
  readonly connectTimeoutMs: number
  /** From the end of the request to the head of the answer; for a body that streams, between two pieces taken. */
  readonly responseHeadersTimeoutMs: number
  /** Between two pieces of an answer. */
  readonly responseBodyTimeoutMs: number
  /** For all of an exchange. */
  readonly totalTimeoutMs: number
}

/** Who owns connections. */
export interface Owner {
  readonly host: string
  readonly patience: Patience
  /** It has ended its exchange well, and may carry another one. */
  freed(connection: Connection): void
  /** It is of no use any more. */
  lost(connection: Connection): void
}

/** Smaller pieces are copied: that costs less than to wait until they were written. */
const smallBytes = 16 * 1024

/**
 * A connection to an upstream, which carries one exchange after another. It is used again only where the last one
 * was exactly clean: the request written whole, the answer read to its end, no byte behind it.
 */
export class Connection implements Carrier {
  /** Until when it may be used again, once it was freed. */
  idleUntil = 0
  isConnected = false
  readonly #owner: Owner
  readonly #socket: Socket
  readonly #connectTimer: NodeJS.Timeout
  #reader: AnswerReader | undefined
  #exchange: Exchange | undefined
  #leaveBody: (() => void) | undefined
  #isSent = false
  #isAnswered = false
  #keepAliveMs = 0
  #quietSince = 0
  #loan: Loan | undefined
  #isReadingLoan = false
  /** Whether what is read is in buffers that nothing is read into again. */
  readonly #ownsPieces: boolean
  #isReadingStopped = false
  #isLost = false

  /** Opens it for a first exchange. */
  constructor(connector: Connector, owner: Owner, exchange: Exchange) {
    this.#owner = owner
    this.#exchange = exchange
    exchange.carriedBy(this)
    this.#ownsPieces = connector.isSecure
    this.#socket = connector.open({ buffer: this.#nextBuffer, callback: this.#readInPlace })
    if (connector.isSecure) this.#socket.on('data', this.#readOwn)
    this.#socket
      .once(connector.isSecure ? 'secureConnect' : 'connect', this.#connected)
      .once('end', this.#ended)
      .once('error', (error) => this.#lose(error))
      .once('close', () => this.#lose(new TransportError('BROKEN_OFF', 'the connection was closed')))
    this.#connectTimer = setTimeout(
      () => this.#lose(new TransportError('CONNECT_TIMEOUT', 'there was no connection in time')),
      owner.patience.connectTimeoutMs,
    )
  }

  /** Carries another exchange: only for one that was freed. */
  carry(exchange: Exchange): void {
    this.#exchange = exchange
    exchange.carriedBy(this)
    this.#quietSince = performance.now()
    atEndOfTurn(() => this.#begin(exchange))
  }

  flowChanged(): void {
    const isStopped = this.#exchange?.isPaused === true || this.#loan?.isHeld === true
    if (isStopped === this.#isReadingStopped || this.#isLost) return
    this.#isReadingStopped = isStopped
    if (isStopped) {
      this.#socket.pause()
    } else {
      this.#quietSince = performance.now()
      this.#socket.resume()
    }
  }

  isStopped(): boolean {
    return this.#isReadingStopped
  }

  /** Ends it where it has waited too long: for the upstream, or for another exchange. */
  checkPatience(now: number): void {
    if (this.#exchange === undefined) {
      if (now >= this.idleUntil) this.close(new TransportError('CLOSED', 'the connection was idle'))
      return
    }
    const { responseHeadersTimeoutMs, responseBodyTimeoutMs, totalTimeoutMs } = this.#owner.patience
    if (now - this.#exchange.begunAt > totalTimeoutMs) {
      this.#lose(new ExchangeTimedOut('it took too long'))
      return
    }
    if (!this.isConnected || this.#isReadingStopped) return
    const quietMs = now - this.#quietSince
    if (this.#isAnswered) {
      if (quietMs > responseBodyTimeoutMs)
        this.#lose(new TransportError('IDLE_TIMEOUT', 'the answer did not go on in time'))
    } else if (quietMs > responseHeadersTimeoutMs && (this.#isSent || this.#socket.writableNeedDrain)) {
      this.#lose(new TransportError('ANSWER_TIMEOUT', 'there was no answer in time'))
    }
  }

  close(reason: Error): void {
    this.#lose(reason)
  }

  readonly #connected = (): void => {
    clearTimeout(this.#connectTimer)
    if (this.#isLost) return
    this.isConnected = true
    if (this.#exchange) this.#begin(this.#exchange)
  }

  /** Unless it has ended already. */
  #begin(exchange: Exchange): void {
    if (exchange !== this.#exchange) return
    this.#isAnswered = false
    this.#quietSince = performance.now()
    this.#reader = new AnswerReader({ head: this.#head, data: this.#data, end: this.#end })
    try {
      const head = requestHead(exchange.request, this.#owner.host)
      exchange.handler.sending()
      if (exchange === this.#exchange) this.#write(exchange, head)
    } catch (error) {
      this.#lose(error as Error)
    }
  }

  #write({ request: { body, ownsBody = false } }: Exchange, head: RequestHead): void {
    const socket = this.#socket
    this.#isSent = body === null || Buffer.isBuffer(body)
    if (body === null || Buffer.isBuffer(body)) {
      new BodyWriter(socket, head.text, false).end(body ?? '')
    } else {
      this.#leaveBody = sendBody(
        socket,
        head,
        { body, ownsBody },
        {
          progressed: () => (this.#quietSince = performance.now()),
          sent: () => {
            this.#isSent = true
            this.#leaveBody = undefined
            this.#quietSince = performance.now()
          },
          failed: (error) => this.#lose(error),
        },
      )
    }
  }

  /** What the socket reads into next: it asks after each time that it has read. */
  readonly #nextBuffer = (): Buffer => {
    this.#isReadingLoan = this.#loan !== undefined
    return this.#loan?.buffer ?? sharedBuffer
  }

  readonly #readInPlace = (size: number, buffer: Uint8Array): boolean => {
    this.#read((buffer as Buffer).subarray(0, size))
    // Who fills all of it has more to say.
    if (size === sharedBuffer.length && this.#exchange !== undefined && this.#isAnswered)
      this.#loan ??= new Loan(() => this.flowChanged())
    return true
  }

  readonly #readOwn = (bytes: Buffer): void => this.#read(bytes)

  #read(bytes: Buffer): void {
    if (this.#exchange === undefined || this.#reader === undefined) {
      this.close(new TransportError('BAD_ANSWER', 'there was an answer without a request'))
      return
    }
    this.#quietSince = performance.now()
    try {
      this.#reader.push(bytes)
    } catch (error) {
      this.#lose(error as Error)
    }
  }

  readonly #head = (head: AnswerHead): void => {
    this.#isAnswered = true
    this.#keepAliveMs = head.keepAliveMs
    this.#exchange?.handler.head(head)
  }

  readonly #data = (piece: Buffer): void => {
    const handler = this.#exchange?.handler
    if (piece.length > smallBytes && this.#isReadingLoan && this.#loan !== undefined) {
      const giveBack = this.#loan.lend()
      handler?.data(piece, giveBack)
      this.flowChanged()
    } else {
      handler?.data(this.#ownsPieces ? piece : Buffer.from(piece), undefined)
    }
  }

  readonly #end = (last: Buffer | undefined): void => {
    const exchange = this.#exchange
    const isClean = this.#isSent && this.#socket.writableLength === 0 && this.#keepAliveMs > 0
    this.#letGo()
    if (isClean) {
      this.flowChanged()
      this.idleUntil = performance.now() + this.#keepAliveMs
      this.#owner.freed(this)
    } else {
      this.close(new TransportError('CLOSED', 'the connection is of no more use'))
    }
    exchange?.handler.end(last)
  }

  readonly #ended = (): void => {
    try {
      this.#reader?.finish()
    } catch (error) {
      this.#lose(error as Error)
    }
    this.#lose(new TransportError('BROKEN_OFF', 'the upstream closed the connection'))
  }

  #lose(reason: Error): void {
    if (this.#isLost) return
    this.#isLost = true
    clearTimeout(this.#connectTimer)
    const exchange = this.#exchange
    this.#letGo()
    this.#socket.on('error', ignore)
    this.#socket.destroy()
    this.#owner.lost(this)
    exchange?.handler.failed(reason)
  }

  #letGo(): void {
    this.#exchange?.carriedBy(undefined)
    this.#exchange = undefined
    this.#reader?.stop()
    this.#reader = undefined
    this.#leaveBody?.()
    this.#leaveBody = undefined
    this.#loan?.end()
    this.#loan = undefined
  }
}

function ignore(): void {}
