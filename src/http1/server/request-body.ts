import { ownedBy, toError } from '../../lib/index.ts'
import type { BodySink, BodySource } from '../codec/body-source.ts'
import { JoinedChunks } from '../codec/joined-chunks.ts'
import type { WriteCallback } from '../codec/message-writer.ts'
import type { BaseResponse } from './base-response.ts'
import type { IncomingRequest, RequestBodyHandler } from './incoming-request.ts'

export interface RequestBodyOptions {
  /** How long no data may arrive while the body is being read. */
  readonly timeoutMs: number
  /** Each received byte gives back the time that it takes at this rate. */
  readonly minBytesPerSecond: number
  readonly error: (reason: 'timeout' | 'aborted') => Error
}

/** Sees the chunks of a body before anything else does. An error that it throws fails the body. */
interface BodyWatcher {
  /** The chunk is valid until this returns. */
  chunk(bytes: Buffer): void
  /** Whether the body is held back until more of it has arrived. */
  readonly awaitsMore?: () => boolean
}

/** Enough of a body to connect to an upstream, unless the watcher awaits more. */
const startBytes = 16 * 1024

/** Held chunks below this size are joined: a chunk takes more memory than its bytes. */
const minHeldBytes = 512

/**
 * The body of a request, to be read in one way: into memory, or passed on as it arrives, without copying large chunks. The
 * timeout counts only while data is wanted and none arrives. The first read sends `100 Continue` if it is awaited. Stopping
 * it leaves the connection open.
 */
export class RequestBody implements BodySource, RequestBodyHandler {
  readonly #request: IncomingRequest
  readonly #response: Pick<BaseResponse, 'writeContinue'>
  readonly #options: RequestBodyOptions
  #watcher: BodyWatcher | undefined
  #sink: BodySink | undefined
  /** Chunks that have arrived before there is a sink. */
  #held: Buffer[] = []
  #received = 0
  #isPaused = false
  #end: 'complete' | 'stopped' | Error | undefined
  #onOpen: ((error?: Error) => void) | undefined
  /** Not counting the current wait. */
  #leftMs: number
  #waitingSince: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    request: IncomingRequest,
    response: Pick<BaseResponse, 'writeContinue'>,
    options: RequestBodyOptions,
  ) {
    this.#request = request
    this.#response = response
    this.#options = options
    this.#leftMs = options.timeoutMs
  }

  /** Reads the body into memory; `onBytes` is called with the length of each chunk. Rejects with its errors. */
  readAll(onBytes: (bytes: number) => void): Promise<Buffer> {
    this.#watcher = { chunk: ({ length }) => onBytes(length) }
    const chunks = new JoinedChunks()
    return new Promise((resolve, reject) =>
      this.start({
        onData(chunk, release) {
          chunks.add(release === undefined ? chunk : Buffer.from(chunk))
          release?.()
        },
        onEnd: () => resolve(chunks.concat()),
        onError: reject,
      }),
    )
  }

  /**
   * Resolves with the body when 16 KiB of it, and all that the watcher needs, or all of it have arrived. Rejects with the
   * error of a body that fails before.
   */
  open(watcher: BodyWatcher): Promise<BodySource> {
    this.#watcher = watcher
    return new Promise((resolve, reject) => {
      this.#onOpen = (error) => (error ? reject(error) : resolve(this))
      this.#read()
    })
  }

  get isComplete(): boolean {
    return this.#end === 'complete'
  }

  /** Chunks are held only in memory that is not reused. */
  get releasesChunks(): boolean {
    return this.#sink !== undefined
  }

  start(sink: BodySink): void {
    this.#sink = sink
    if (this.#end instanceof Error) {
      sink.onError(this.#end)
      return
    }
    for (const chunk of this.#held.splice(0)) this.#sink?.onData(chunk, undefined)
    if (this.#sink === undefined) return
    if (this.#end === 'complete') sink.onEnd()
    else if (!this.#isPaused) this.#read()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#sink !== undefined) this.#read()
  }

  stop(): void {
    this.#end ??= 'stopped'
    this.#sink = undefined
    this.#held = []
    clearTimeout(this.#timer)
    this.#request.detach(this)
  }

  onRequestData(chunk: Buffer, release: WriteCallback | undefined): void {
    const now = performance.now()
    const { timeoutMs, minBytesPerSecond } = this.#options
    const restoredMs = (chunk.length * 1000) / minBytesPerSecond
    this.#leftMs = Math.min(timeoutMs, this.#remainingMs(now) + restoredMs)
    try {
      this.#watcher?.chunk(chunk)
    } catch (error) {
      release?.()
      this.#fail(toError(error))
      return
    }
    this.#received += chunk.length
    if (this.#sink === undefined) this.#hold(chunk)
    else this.#sink.onData(chunk, release)
    const isOpen = this.#received >= startBytes && this.#watcher?.awaitsMore?.() !== true
    if (isOpen) this.#onOpen?.()
    const wantsMore = this.#sink === undefined ? !isOpen : !this.#isPaused
    this.#waitingSince = wantsMore ? now : undefined
    if (!wantsMore) this.#request.pause()
  }

  onRequestEnd(): void {
    this.#end = 'complete'
    clearTimeout(this.#timer)
    this.#sink?.onEnd()
    this.#onOpen?.()
  }

  onRequestError(): void {
    this.#fail(this.#options.error('aborted'))
  }

  #fail(error: Error): void {
    const sink = this.#sink
    this.stop()
    this.#end = error
    sink?.onError(error)
    this.#onOpen?.(error)
  }

  #read(): void {
    if (this.#end !== undefined) return
    this.#waitingSince ??= performance.now()
    if (this.#timer !== undefined) {
      this.#request.resume()
      return
    }
    this.#timer = setTimeout(this.#checkTimeout, this.#options.timeoutMs).unref()
    if (this.#request.awaitsContinue) this.#response.writeContinue()
    this.#request.consume(this)
  }

  #hold(chunk: Buffer): void {
    const last = this.#held.at(-1)
    if (last === undefined || last.length >= minHeldBytes) this.#held.push(chunk)
    else this.#held[this.#held.length - 1] = Buffer.concat([last, chunk])
  }

  #remainingMs(now: number): number {
    return this.#leftMs - (this.#waitingSince === undefined ? 0 : now - this.#waitingSince)
  }

  readonly #checkTimeout = (): void => {
    // After a suspension of the process, unread bytes of the client are read first.
    const check = (): void => {
      if (this.#end !== undefined) return
      const remainingMs = this.#remainingMs(performance.now())
      if (remainingMs <= 0) this.#fail(this.#options.error('timeout'))
      else this.#timer = setTimeout(this.#checkTimeout, remainingMs).unref()
    }
    setImmediate(ownedBy(this.#request, check))
  }
}
