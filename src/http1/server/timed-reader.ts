import { ownedBy } from '../../lib/index.ts'
import type { WriteCallback } from '../codec/message-writer.ts'
import type { IncomingRequest, RequestBodyHandler } from './incoming-request.ts'

/** Sends `100 Continue`, unless a response has begun. */
export interface ContinueWriter {
  writeContinue(): void
}

export interface RequestBodyOptions {
  /** How long no data may arrive while the body is being read. */
  readonly timeoutMs: number
  /** Each received byte gives back the time that it takes at this rate. */
  readonly minBytesPerSecond: number
  readonly error: (reason: 'timeout' | 'aborted') => Error
}

/** Receives a body. Nothing is called after `onEnd` or `onError`. */
export interface BodyConsumer {
  /** See RequestBodyHandler. */
  readonly releasesChunks?: boolean
  /** Returns whether it accepts more at once; otherwise it calls `read` later. */
  onData(chunk: Buffer, release: WriteCallback | undefined): boolean
  onEnd(): void
  onError(error: Error): void
}

/**
 * Reads the body of a request. The timeout counts only while data is wanted and none arrives. The first read sends
 * `100 Continue` if it is awaited.
 */
export class TimedReader implements RequestBodyHandler {
  readonly #request: IncomingRequest
  readonly #response: ContinueWriter
  readonly #options: RequestBodyOptions
  readonly #consumer: BodyConsumer
  /** Not counting the current wait. */
  #leftMs: number
  #waitingSince: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(
    request: IncomingRequest,
    response: ContinueWriter,
    options: RequestBodyOptions,
    consumer: BodyConsumer,
  ) {
    this.#request = request
    this.#response = response
    this.#options = options
    this.#consumer = consumer
    this.#leftMs = options.timeoutMs
  }

  get releasesChunks(): boolean {
    return this.#consumer.releasesChunks === true
  }

  read(): void {
    if (this.#isStopped) return
    this.#waitingSince ??= performance.now()
    if (this.#timer === undefined) this.#start()
    else this.#request.resume()
  }

  stop(): void {
    if (this.#isStopped) return
    this.#end()
    this.#request.detach(this)
  }

  onRequestData(chunk: Buffer, release: WriteCallback | undefined): void {
    const now = performance.now()
    const { timeoutMs, minBytesPerSecond } = this.#options
    const restoredMs = (chunk.length * 1000) / minBytesPerSecond
    this.#leftMs = Math.min(timeoutMs, this.#remainingMs(now) + restoredMs)
    const wantsMore = this.#consumer.onData(chunk, release)
    this.#waitingSince = wantsMore ? now : undefined
    if (!wantsMore) this.#request.pause()
  }

  onRequestEnd(): void {
    this.#end()
    this.#consumer.onEnd()
  }

  onRequestError(): void {
    this.#end()
    this.#consumer.onError(this.#options.error('aborted'))
  }

  #start(): void {
    this.#timer = setTimeout(this.#checkTimeout, this.#options.timeoutMs).unref()
    if (this.#request.head.expectsContinue && !this.#request.isComplete) this.#response.writeContinue()
    this.#request.consume(this)
  }

  #end(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #remainingMs(now: number): number {
    return this.#leftMs - (this.#waitingSince === undefined ? 0 : now - this.#waitingSince)
  }

  readonly #checkTimeout = (): void => {
    // After a suspension of the process, unread bytes of the client are read first.
    const check = (): void => {
      if (this.#isStopped) return
      const remainingMs = this.#remainingMs(performance.now())
      if (remainingMs <= 0) this.#consumer.onError(this.#options.error('timeout'))
      else this.#timer = setTimeout(this.#checkTimeout, remainingMs).unref()
    }
    setImmediate(ownedBy(this.#request, check))
  }
}
