import { Readable } from 'node:stream'
import { toError } from '../../lib/errors/to-error.ts'
import type { IncomingRequest, RequestBodyHandler } from './incoming-request.ts'

/** Sends `100 Continue`, unless a response has begun. */
interface ContinueWriter {
  writeContinue(): void
}

export interface RequestBodyOptions {
  /** How long no data may arrive while the body is being read. */
  readonly timeoutMs: number
  /** Each received byte gives back the time that it takes at this rate. */
  readonly minBytesPerSecond: number
  readonly error: (reason: 'timeout' | 'aborted') => Error
}

/** Receives the chunks of a body as they arrive. An error that it throws destroys the stream. */
export interface RequestBodyWatcher {
  chunk(bytes: Buffer): void
  /** Called before the last chunk is passed on. */
  readonly end?: () => void
}

const highWaterMark = 64 * 1024
const startBytes = 16 * 1024

/**
 * The timeout counts only while data is wanted and none arrives. The first read sends `100 Continue` if it is awaited.
 */
export class RequestBody {
  readonly #request: IncomingRequest
  readonly #response: ContinueWriter
  readonly #options: RequestBodyOptions
  #stream: Readable | undefined
  #watcher: RequestBodyWatcher | undefined
  #reader: TimedReader | undefined
  #received = 0
  #onStarted: ((error?: Error | null) => void) | undefined

  constructor(request: IncomingRequest, response: ContinueWriter, options: RequestBodyOptions) {
    this.#request = request
    this.#response = response
    this.#options = options
  }

  /** Destroying the stream leaves the connection open. */
  get stream(): Readable {
    return (this.#stream ??= this.#openStream())
  }

  /** Must be called before the stream is read. */
  watch(watcher: RequestBodyWatcher): void {
    this.#watcher = watcher
  }

  /** Reads the body into memory; `onBytes` is called with the length of each chunk. Rejects with the stream's errors. */
  readAll(onBytes?: (bytes: number) => void): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      const reader = this.#read({
        onData(chunk) {
          onBytes?.(chunk.length)
          chunks.push(chunk)
          return true
        },
        onEnd() {
          const [first] = chunks
          resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks))
        },
        onError(error) {
          reader.stop()
          reject(error)
        },
      })
      this.#reader = reader
      reader.read()
    })
  }

  /** Resolves when 16 KiB of the body or all of it have arrived. Rejects with the stream's errors. */
  started(): Promise<void> {
    const { stream } = this
    if (stream.errored) return Promise.reject(stream.errored)
    if (this.#received >= startBytes || this.#request.isComplete) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#onStarted = (error) => (error ? reject(error) : resolve())
      stream.read(0)
    })
  }

  release(): void {
    this.#stream?.destroy()
    this.#reader?.stop()
  }

  #read(consumer: Consumer): TimedReader {
    return new TimedReader(this.#request, this.#response, this.#options, consumer)
  }

  #openStream(): Readable {
    const stream = new Readable({
      highWaterMark,
      read: () => reader.read(),
      destroy: (error, callback) => {
        reader.stop()
        this.#onStarted?.(error)
        callback(error)
      },
    })
    // The stream may fail before anything reads it; a later reader gets the error, too.
    stream.on('error', () => undefined)
    let last: Buffer | undefined
    const callWatcher = (call: () => void): boolean => {
      try {
        call()
        return true
      } catch (error) {
        stream.destroy(toError(error))
        return false
      }
    }
    const reader = this.#read({
      onData: (chunk) => {
        if (!callWatcher(() => this.#watcher?.chunk(chunk))) return false
        this.#received += chunk.length
        if (this.#received >= startBytes) this.#onStarted?.()
        if (this.#watcher?.end === undefined) return stream.push(chunk)
        const before = last
        last = chunk
        return before === undefined || stream.push(before)
      },
      onEnd: () => {
        if (!callWatcher(() => this.#watcher?.end?.())) return
        if (last !== undefined) stream.push(last)
        stream.push(null)
        this.#onStarted?.()
      },
      onError: (error) => void stream.destroy(error),
    })
    return stream
  }
}

interface Consumer {
  /** Returns whether it accepts more at once; otherwise it calls `read` later. */
  onData(chunk: Buffer): boolean
  onEnd(): void
  onError(error: Error): void
}

class TimedReader implements RequestBodyHandler {
  readonly #request: IncomingRequest
  readonly #response: ContinueWriter
  readonly #options: RequestBodyOptions
  readonly #consumer: Consumer
  /** Not counting the current wait. */
  #leftMs: number
  #waitingSince: number | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(
    request: IncomingRequest,
    response: ContinueWriter,
    options: RequestBodyOptions,
    consumer: Consumer,
  ) {
    this.#request = request
    this.#response = response
    this.#options = options
    this.#consumer = consumer
    this.#leftMs = options.timeoutMs
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

  onRequestData(chunk: Buffer): void {
    const now = performance.now()
    const { timeoutMs, minBytesPerSecond } = this.#options
    const restoredMs = (chunk.length * 1000) / minBytesPerSecond
    this.#leftMs = Math.min(timeoutMs, this.#remainingMs(now) + restoredMs)
    const wantsMore = this.#consumer.onData(chunk)
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
    setImmediate(() => {
      if (this.#isStopped) return
      const remainingMs = this.#remainingMs(performance.now())
      if (remainingMs <= 0) this.#consumer.onError(this.#options.error('timeout'))
      else this.#timer = setTimeout(this.#checkTimeout, remainingMs).unref()
    })
  }
}
