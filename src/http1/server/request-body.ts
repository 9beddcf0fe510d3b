import { ownedBy } from '../../lib/index.ts'
import type { StartedBody } from '../codec/body-source.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { ContinueWriter, RequestBodyOptions } from './timed-reader.ts'
import { UploadSource, type UploadWatcher } from './upload-source.ts'

const maxDrainBytes = 16 * 1024 * 1024
const drainTimeoutMs = 10_000

/** The body of a request. */
export class RequestBody {
  readonly #request: IncomingRequest
  readonly #response: ContinueWriter
  readonly #options: RequestBodyOptions
  #upload: UploadSource | undefined

  constructor(request: IncomingRequest, response: ContinueWriter, options: RequestBodyOptions) {
    this.#request = request
    this.#response = response
    this.#options = options
  }

  /** Resolves with the body when it has started (UploadSource). Rejects with its error. To be called once. */
  async upload(watcher: UploadWatcher): Promise<StartedBody> {
    const upload = new UploadSource(this.#request, this.#response, this.#options, watcher)
    this.#upload = upload
    await upload.started()
    return upload
  }

  release(): void {
    this.#upload?.stop()
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
