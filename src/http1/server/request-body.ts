import { ownedBy, toError } from '../../lib/index.ts'
import type { BodySource } from '../codec/body-source.ts'
import { JoinedChunks } from '../codec/joined-chunks.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { TimedReader, type ContinueWriter, type RequestBodyOptions } from './timed-reader.ts'
import { UploadSource, type UploadWatcher } from './upload-source.ts'

const maxDrainBytes = 16 * 1024 * 1024
const drainTimeoutMs = 10_000

/** The body of a request, to be read in one way: into memory, or to be passed on as it arrives. */
export class RequestBody {
  readonly #request: IncomingRequest
  readonly #response: ContinueWriter
  readonly #options: RequestBodyOptions
  #upload: UploadSource | undefined
  #reader: TimedReader | undefined

  constructor(request: IncomingRequest, response: ContinueWriter, options: RequestBodyOptions) {
    this.#request = request
    this.#response = response
    this.#options = options
  }

  /** Passes the body on as it arrives. */
  upload(watcher: UploadWatcher): BodySource {
    return (this.#upload ??= new UploadSource(this.#request, this.#response, this.#options, watcher))
  }

  /** Reads the body into memory; `onBytes` is called with the length of each chunk. Rejects with what it throws. */
  readAll(onBytes: (bytes: number) => void): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks = new JoinedChunks()
      const fail = (error: unknown): void => {
        reader.stop()
        reject(toError(error))
      }
      const reader = new TimedReader(this.#request, this.#response, this.#options, {
        onData(chunk) {
          try {
            onBytes(chunk.length)
            chunks.add(chunk)
            return true
          } catch (error) {
            fail(error)
            return false
          }
        },
        onEnd: () => resolve(chunks.concat()),
        onError: fail,
      })
      this.#reader = reader
      reader.read()
    })
  }

  /** Resolves when an upload has started (UploadSource). Rejects with the error of the body. */
  started(): Promise<void> {
    return this.#upload?.started() ?? Promise.resolve()
  }

  release(): void {
    this.#upload?.stop()
    this.#reader?.stop()
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
