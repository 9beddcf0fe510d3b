import { Readable } from 'node:stream'
import { ownedBy } from '../../lib/async/owned-tasks.ts'
import type { BodySource } from '../codec/body-source.ts'
import { JoinedChunks } from '../codec/joined-chunks.ts'
import type { IncomingRequest } from './incoming-request.ts'
import {
  TimedReader,
  type BodyConsumer,
  type ContinueWriter,
  type RequestBodyOptions,
} from './timed-reader.ts'
import { UploadSource, type UploadWatcher } from './upload-source.ts'

const highWaterMark = 64 * 1024
const maxDrainBytes = 16 * 1024 * 1024
const drainTimeoutMs = 10_000

/** The body of a request, to be read in one way: into memory, as a stream, or to be passed on as it arrives. */
export class RequestBody {
  readonly #request: IncomingRequest
  readonly #response: ContinueWriter
  readonly #options: RequestBodyOptions
  #stream: Readable | undefined
  #upload: UploadSource | undefined
  #reader: TimedReader | undefined

  constructor(request: IncomingRequest, response: ContinueWriter, options: RequestBodyOptions) {
    this.#request = request
    this.#response = response
    this.#options = options
  }

  /** Destroying the stream leaves the connection open. */
  get stream(): Readable {
    return (this.#stream ??= this.#openStream())
  }

  /** Passes the body on as it arrives. */
  upload(watcher: UploadWatcher): BodySource {
    return (this.#upload ??= new UploadSource(this.#request, this.#response, this.#options, watcher))
  }

  /** Reads the body into memory; `onBytes` is called with the length of each chunk. Rejects with the stream's errors. */
  readAll(onBytes?: (bytes: number) => void): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks = new JoinedChunks()
      const reader = this.#read({
        onData(chunk) {
          onBytes?.(chunk.length)
          chunks.add(chunk)
          return true
        },
        onEnd() {
          resolve(chunks.concat())
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

  /**
   * Resolves when an upload has started (UploadSource); at once for a stream, which has been read before. Rejects with the
   * error of the body.
   */
  started(): Promise<void> {
    if (this.#stream?.errored) return Promise.reject(this.#stream.errored)
    return this.#upload?.started() ?? Promise.resolve()
  }

  release(): void {
    this.#stream?.destroy()
    this.#upload?.stop()
    this.#reader?.stop()
  }

  #read(consumer: BodyConsumer): TimedReader {
    return new TimedReader(this.#request, this.#response, this.#options, consumer)
  }

  #openStream(): Readable {
    const stream = new Readable({
      highWaterMark,
      read: () => reader.read(),
      destroy: (error, callback) => {
        reader.stop()
        callback(error)
      },
    })
    // The stream may fail before anything reads it; a later reader gets the error, too.
    stream.on('error', () => undefined)
    const reader = this.#read({
      onData: (chunk) => stream.push(chunk),
      onEnd: () => void stream.push(null),
      onError: (error) => void stream.destroy(error),
    })
    return stream
  }
}

/** Reads and discards the rest of a body, which precedes the next request of the connection. */
export function drainRequestBody(request: IncomingRequest): void {
  if (request.isComplete || request.isAborted) return
  let bytes = 0
  const destroy = ownedBy(request, () => request.destroy())
  const timer = setTimeout(destroy, drainTimeoutMs).unref()
  const stopTimer = (): void => clearTimeout(timer)
  request.consume({
    releasesChunks: true,
    onRequestData(chunk, release) {
      release?.()
      bytes += chunk.length
      if (bytes > maxDrainBytes) request.destroy()
    },
    onRequestEnd: stopTimer,
    onRequestError: stopTimer,
  })
}
