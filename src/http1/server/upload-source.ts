import { toError } from '../../lib/index.ts'
import type { BodySink, BodySource } from '../codec/body-source.ts'
import type { WriteCallback } from '../codec/message-writer.ts'
import type { IncomingRequest } from './incoming-request.ts'
import {
  TimedReader,
  type BodyConsumer,
  type ContinueWriter,
  type RequestBodyOptions,
} from './timed-reader.ts'

/** Receives the chunks of a body as they arrive. An error that it throws fails the body. */
export interface UploadWatcher {
  /** The chunk is valid until this returns. */
  chunk(bytes: Buffer): void
  /** Whether the body is held back until more of it has arrived. */
  readonly needsMore?: () => boolean
}

/** Enough of a body to connect to an upstream, unless the watcher needs more. */
const startBytes = 16 * 1024

/** Held chunks below this size are joined: a chunk takes more memory than its bytes. */
const minHeldBytes = 512

/** Passes the body of a request on as it arrives, without copying large chunks. Stopping it leaves the connection open. */
export class UploadSource implements BodySource, BodyConsumer {
  readonly #reader: TimedReader
  readonly #watcher: UploadWatcher
  #sink: BodySink | undefined
  /** Chunks that have arrived before there is a sink. */
  #held: Buffer[] = []
  #received = 0
  #isPaused = false
  #end: 'complete' | 'stopped' | Error | undefined
  #onStarted: ((error?: Error) => void) | undefined

  constructor(
    request: IncomingRequest,
    response: ContinueWriter,
    options: RequestBodyOptions,
    watcher: UploadWatcher,
  ) {
    this.#watcher = watcher
    this.#reader = new TimedReader(request, response, options, this)
  }

  get isComplete(): boolean {
    return this.#end === 'complete'
  }

  /** Chunks are held only in memory that is not reused. */
  get releasesChunks(): boolean {
    return this.#sink !== undefined
  }

  /**
   * Resolves when 16 KiB of the body, and all that the watcher needs, or all of it have arrived. Rejects with the error of
   * a body that fails before.
   */
  started(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onStarted = (error) => (error ? reject(error) : resolve())
      if (this.#end instanceof Error) reject(this.#end)
      else if (this.#end === 'complete' || this.#hasStarted()) resolve()
      else this.#reader.read()
    })
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
    else if (!this.#isPaused) this.#reader.read()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#sink !== undefined) this.#reader.read()
  }

  stop(): void {
    this.#end ??= 'stopped'
    this.#sink = undefined
    this.#held = []
    this.#reader.stop()
  }

  onData(chunk: Buffer, release: WriteCallback | undefined): boolean {
    try {
      this.#watcher.chunk(chunk)
    } catch (error) {
      release?.()
      this.onError(toError(error))
      return false
    }
    this.#received += chunk.length
    if (this.#sink === undefined) this.#hold(chunk)
    else this.#sink.onData(chunk, release)
    const hasStarted = this.#hasStarted()
    if (hasStarted) this.#onStarted?.()
    return this.#sink === undefined ? !hasStarted : !this.#isPaused
  }

  onEnd(): void {
    this.#end = 'complete'
    this.#sink?.onEnd()
    this.#onStarted?.()
  }

  onError(error: Error): void {
    if (this.#end !== undefined) return
    const sink = this.#sink
    this.stop()
    this.#end = error
    sink?.onError(error)
    this.#onStarted?.(error)
  }

  #hasStarted(): boolean {
    return this.#received >= startBytes && this.#watcher.needsMore?.() !== true
  }

  #hold(chunk: Buffer): void {
    const last = this.#held.at(-1)
    if (last === undefined || last.length >= minHeldBytes) this.#held.push(chunk)
    else this.#held[this.#held.length - 1] = Buffer.concat([last, chunk])
  }
}
