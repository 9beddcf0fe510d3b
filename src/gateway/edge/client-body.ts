import { Readable } from 'node:stream'
import { InterfaceError, optionsFor } from '../../interface/errors.ts'
import { ClientGone } from './client-gone.ts'
import type { ClientAnswer } from './client-answer.ts'
import type { BodyTaker, ClientRequest } from './client-request.ts'

/** How slow a client may be with a body. */
export interface BodyPace {
  /** Milliseconds without a piece of the body. */
  readonly patienceMs: number
  /** Each byte earns back its share of the patience that was used up. */
  readonly bytesPerSecond: number
}

/** A body did not arrive in time: 408. The connection is of no use any more. */
export class BodyTooSlow extends InterfaceError {
  constructor() {
    super('InvalidInput', 'the body of the request did not arrive in time', optionsFor('body_timeout'))
  }
}

/** Sees a body as it arrives; what it throws fails the stream. */
export interface BodyWatcher {
  chunk(bytes: Buffer): void
  /** Called at the end, before the last chunk goes on, so that a body that is refused there is never whole upstream. */
  readonly end?: () => void
}

/** The body of a request for the stages that read it: as a stream, or whole. */
export interface ClientBody {
  /** Fails with BodyTooSlow, or ClientGone. To destroy it leaves the connection alone. */
  readonly stream: Readable
  /** Shows the stream to a watcher as it arrives. */
  watch(watcher: BodyWatcher): void
  /** All of it in memory; `arrived` is told of the bytes as they come. Rejects with what the stream fails with. */
  whole(arrived?: (bytes: number) => void): Promise<Buffer>
  /**
   * Resolves when enough of the stream is there to spend a connection to an upstream on it: its beginning, or all of
   * it. Rejects with what the stream fails with.
   */
  begun(): Promise<void>
  /** Ends the reading, whatever is left of the body. */
  release(): void
}

/** Of a request that has none. */
export const noBody: ClientBody = {
  stream: Readable.from([]),
  watch: () => undefined,
  whole: () => Promise.resolve(Buffer.alloc(0)),
  begun: () => Promise.resolve(),
  release: () => undefined,
}

const highWaterMark = 64 * 1024
/** What a client that sends a byte now and then never comes to. */
const beginningBytes = 16 * 1024

/**
 * The body of a request, under the clock: only the time counts in which it is being read and the client does not send.
 * A client that waits for `100 Continue` is told so with the first read: it has been admitted by then, and its body is
 * wanted. (A class: an object that is written with a getter is one of a kind for V8, which keeps what describes the
 * kind, and with it the whole request, until the next full collection.)
 */
export class ArrivingBody implements ClientBody {
  readonly #request: ClientRequest
  readonly #response: ClientAnswer
  readonly #pace: BodyPace
  #stream: Readable | undefined
  #watcher: BodyWatcher | undefined
  #arrival: Arrival | undefined
  #taken = 0
  #settleBegun: ((error?: Error | null) => void) | undefined

  constructor(request: ClientRequest, response: ClientAnswer, pace: BodyPace) {
    this.#request = request
    this.#response = response
    this.#pace = pace
  }

  get stream(): Readable {
    return (this.#stream ??= this.#openStream())
  }

  watch(watcher: BodyWatcher): void {
    this.#watcher = watcher
  }

  whole(arrived?: (bytes: number) => void): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = []
      const arrival = this.#arrive({
        piece(chunk) {
          arrived?.(chunk.length)
          pieces.push(chunk)
          return true
        },
        end: () => resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)),
        failed(error) {
          arrival.stop()
          reject(error)
        },
      })
      this.#arrival = arrival
      arrival.want()
    })
  }

  begun(): Promise<void> {
    const { stream } = this
    if (stream.errored) return Promise.reject(stream.errored)
    if (this.#taken >= beginningBytes || this.#request.isComplete) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#settleBegun = (error) => (error ? reject(error) : resolve())
      stream.read(0)
    })
  }

  release(): void {
    this.#stream?.destroy()
    this.#arrival?.stop()
  }

  #arrive(taker: Taker): Arrival {
    return new Arrival(this.#request, this.#response, this.#pace, taker)
  }

  #openStream(): Readable {
    const opened = new Readable({
      highWaterMark,
      read: () => arriving.want(),
      destroy: (error, done) => {
        arriving.stop()
        this.#settleBegun?.(error)
        done(error)
      },
    })
    // It may fail while nobody reads it; whoever does is told as well.
    opened.on('error', () => undefined)
    let last: Buffer | undefined
    const show = (event: () => void): boolean => {
      try {
        event()
        return true
      } catch (error) {
        opened.destroy(error as Error)
        return false
      }
    }
    const arriving = this.#arrive({
      piece: (chunk) => {
        if (!show(() => this.#watcher?.chunk(chunk))) return false
        this.#taken += chunk.length
        if (this.#taken >= beginningBytes) this.#settleBegun?.()
        if (this.#watcher?.end === undefined) return opened.push(chunk)
        const before = last
        last = chunk
        return before === undefined || opened.push(before)
      },
      end: () => {
        if (!show(() => this.#watcher?.end?.())) return
        if (last !== undefined) opened.push(last)
        opened.push(null)
        this.#settleBegun?.()
      },
      failed: (error) => void opened.destroy(error),
    })
    return opened
  }
}

/** Who is told of a body as it arrives. */
interface Taker {
  /** Answers whether it takes more at once; else it asks for it. */
  piece(chunk: Buffer): boolean
  end(): void
  failed(error: Error): void
}

/** Takes the body of a request from its connection, when it is wanted. */
class Arrival implements BodyTaker {
  readonly #request: ClientRequest
  readonly #response: ClientAnswer
  readonly #pace: BodyPace
  readonly #taker: Taker
  #patience: number
  #waitingSince: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(request: ClientRequest, response: ClientAnswer, pace: BodyPace, taker: Taker) {
    this.#request = request
    this.#response = response
    this.#pace = pace
    this.#taker = taker
    this.#patience = pace.patienceMs
  }

  /** More is wanted. */
  want(): void {
    if (this.#isOver) return
    this.#waitingSince ??= performance.now()
    if (this.#timer === undefined) this.#begin()
    else this.#request.resume()
  }

  /** Nothing is wanted any more. */
  stop(): void {
    if (this.#isOver) return
    this.#leave()
    this.#request.leave(this)
  }

  piece(bytes: Buffer): void {
    const now = performance.now()
    const earned = (bytes.length * 1000) / this.#pace.bytesPerSecond
    this.#patience = Math.min(this.#pace.patienceMs, this.#left(now) + earned)
    const takesMore = this.#taker.piece(bytes)
    this.#waitingSince = takesMore ? now : undefined
    if (!takesMore) this.#request.pause()
  }

  end(): void {
    this.#leave()
    this.#taker.end()
  }

  broken(): void {
    this.#leave()
    this.#taker.failed(new ClientGone('the client broke off its body'))
  }

  #begin(): void {
    this.#timer = setTimeout(this.#look, this.#pace.patienceMs).unref()
    if (this.#request.head.expectsContinue && !this.#request.isComplete) this.#response.writeContinue()
    this.#request.take(this)
  }

  #leave(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #left(now: number): number {
    return this.#patience - (this.#waitingSince === undefined ? 0 : now - this.#waitingSince)
  }

  readonly #look = (): void => {
    // After a pause of this process the bytes of the client may lie there unread: they are read first.
    setImmediate(() => {
      if (this.#isOver) return
      const remaining = this.#left(performance.now())
      if (remaining <= 0) this.#taker.failed(new BodyTooSlow())
      else this.#timer = setTimeout(this.#look, remaining).unref()
    })
  }
}
