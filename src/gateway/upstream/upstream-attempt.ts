import { lancedbServerHeader, limitLancedbServerVersion, refusal } from '../../catalog-api/index.ts'
import {
  hasHeader,
  ownedBy,
  parseConnectionTokens,
  removeHeaders,
  scheduleAtTickEnd,
  toError,
  withoutByteOrderMark,
} from '../../lib/index.ts'
import type { PoolName } from '../../limits/index.ts'
import type { RequestSpans } from '../../observability/index.ts'
import { type DownstreamResponse, ClientDisconnected } from '../downstream.ts'
import {
  badResponse,
  JoinedChunks,
  type OutgoingRequest,
  type RequestController,
  type ResponseHandler,
  type ResponseHead,
  type WriteCallback,
} from '../../http1/index.ts'
import type { Upstream } from './upstream.ts'

/** The result of an attempt. */
export interface UpstreamResponse {
  readonly status: number
  /** Headers that may be forwarded to the client: names and values in turn. */
  readonly headers: readonly string[]
  /**
   * The whole body without byte order mark, or undefined if it has been streamed to the client. The body of an error may be
   * truncated: its status is enough.
   */
  readonly body: Buffer | undefined
}

/** The client side of an attempt. */
export interface UpstreamCallOptions {
  readonly response: DownstreamResponse
  /** Headers that the gateway adds to the response: names and values in turn. */
  readonly addedHeaders: readonly string[]
  /** Names of headers that are forwarded besides those of every response. */
  readonly responseHeaders: readonly string[]
  /** Whether a successful response is buffered, so that the gateway can read it first. Errors always are. */
  readonly buffersResponse: boolean
  /** Reserves memory for bytes of a buffered response. Throws Overloaded (503). */
  readonly reserveMemory?: (bytes: number) => void
  /** Rejects if the request is not allowed any more. */
  readonly checkDecision?: (when: 'end') => Promise<void> | undefined
  /** Creates the filter of a successful response that is streamed; undefined if it is sent as it comes. */
  readonly createFilter?: (() => ResponseFilter) | undefined
  /** Whether the attempt is aborted if the client disconnects. Changes continue, so that their outcome is known. */
  readonly abortsWithClient: boolean
  /** The connection pool, and the holder of the slot. */
  readonly pool: PoolName
  readonly holder: string
  /** If traces are on: each attempt is a span. */
  readonly spans: RequestSpans | undefined
}

/** Checks and changes a response that is streamed. Nothing is sent before the first bytes that a filter returns. */
interface ResponseFilter {
  /** Returns the next bytes to send: parts of the chunk, or memory that is not reused. Throws TransportError. */
  push(chunk: Buffer): readonly Buffer[]
  /** Returns the last bytes that are sent. Throws TransportError. */
  end(): readonly Buffer[]
}

/** Maximum size of a buffered response; the rest of an error body is not read. */
const maxBufferedBytes = 16 * 1024 * 1024
const maxErrorBytes = 64 * 1024

/** An attempt that ended without a complete response; see the cause. */
export class AttemptFailed extends Error {
  override readonly name = 'AttemptFailed'
  /** `unsent`: no byte was sent to the upstream. `sent`: some may have been. `responding`: the response had started. */
  readonly progress: 'unsent' | 'sent' | 'responding'

  constructor(progress: AttemptFailed['progress'], cause: unknown) {
    super(`the upstream request failed (${progress})`, { cause })
    this.progress = progress
  }
}

/**
 * Runs one attempt. A successful response is streamed to the client, no faster than the client reads, unless it is
 * buffered. Rejects with AttemptFailed; if streaming had started, the connection to the client is closed first, so that
 * a partial response never looks complete.
 */
export function runAttempt(
  upstream: Upstream,
  request: OutgoingRequest,
  options: UpstreamCallOptions,
  isRetry: boolean,
): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    new ResponseRelay(upstream, request, options, resolve, reject).start(isRetry)
  })
}

/** Relays the response of the upstream. */
class ResponseRelay implements ResponseHandler {
  readonly #upstream: Upstream
  readonly #request: OutgoingRequest
  readonly #options: UpstreamCallOptions
  readonly #resolve: (response: UpstreamResponse) => void
  readonly #reject: (error: AttemptFailed) => void
  #sendTimer: NodeJS.Timeout | undefined
  #controller: RequestController | undefined
  #mayHaveBeenSent = false
  #status = 0
  #headers: string[] = []
  #isStreaming = false
  #buffered: JoinedChunks | undefined
  #bufferedBytes = 0
  #filter: ResponseFilter | undefined

  constructor(
    upstream: Upstream,
    request: OutgoingRequest,
    options: UpstreamCallOptions,
    resolve: (response: UpstreamResponse) => void,
    reject: (error: AttemptFailed) => void,
  ) {
    this.#upstream = upstream
    this.#request = request
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    if (options.abortsWithClient) options.response.onClose.add(this.#clientClosed)
  }

  /** A retry uses a new connection: idle ones may have failed like that of the previous attempt. */
  start(isRetry: boolean): void {
    const { abortsWithClient, response } = this.#options
    // Before a retry: `onClose` is not called again.
    if (abortsWithClient && response.isDestroyed) this.onResponseError(new ClientDisconnected())
    else this.#controller = this.#upstream.client.dispatch(this.#request, this, isRetry)
  }

  onRequestStart(): void {
    this.#mayHaveBeenSent = true
  }

  onResponseStart({ status, headers }: ResponseHead): void {
    this.#status = status
    // The client would take a part for the whole.
    if (status === 206 && !hasHeader(this.#request.headers, 'range')) {
      this.#abort(badResponse('the response is a part, which was not requested'))
      return
    }
    const { response, buffersResponse, responseHeaders, addedHeaders } = this.#options
    const isAllowed = (name: string): boolean =>
      this.#upstream.allowedResponseHeaders.has(name) || responseHeaders.includes(name)
    this.#headers = filterHeaders(headers, isAllowed, addedHeaders)
    if (buffersResponse || !isSuccess(status)) this.#buffered = new JoinedChunks()
    else if (this.#options.createFilter !== undefined) this.#filter = this.#options.createFilter()
    else response.writeHead(status, this.#headers)
  }

  onResponseData(chunk: Buffer, release: WriteCallback | undefined): void {
    if (this.#buffered === undefined && this.#filter === undefined) {
      this.#forward(chunk, release)
      return
    }
    try {
      if (this.#filter !== undefined) this.#forwardFiltered(this.#filter.push(chunk), release)
      else {
        this.#buffer(release === undefined ? chunk : Buffer.from(chunk))
        release?.()
      }
    } catch (error) {
      release?.()
      this.#abort(toError(error))
    }
  }

  onResponseEnd(last: Buffer | undefined): void {
    try {
      if (this.#buffered !== undefined && last !== undefined) this.#buffer(Buffer.from(last))
      if (this.#filter !== undefined)
        this.#forwardFiltered([...this.#filter.push(Buffer.from(last ?? [])), ...this.#filter.end()])
    } catch (error) {
      this.onResponseError(toError(error))
      return
    }
    this.#detach()
    if (this.#buffered === undefined) {
      const { response } = this.#options
      // A latin1 string is written together with the head of a short response.
      const text = this.#filter === undefined ? last?.toString('latin1') : undefined
      scheduleAtTickEnd(response, () => response.end(text))
    }
    this.#resolveResponse()
  }

  onResponseError(error: Error): void {
    this.#detach()
    // An error status is conclusive even if its body is truncated.
    const isRefusal = this.#status !== 0 && !isSuccess(this.#status)
    if (isRefusal && !(error instanceof ClientDisconnected)) {
      this.#resolveResponse()
      return
    }
    this.#reject(new AttemptFailed(this.#progress(), error))
    if (this.#options.response.hasHead) this.#options.response.destroy()
  }

  /** Throws ServiceUnavailable (502), or Overloaded if the caller may not hold more. Of an error, little is sent. */
  #buffer(chunk: Buffer): void {
    const isSuccessful = isSuccess(this.#status)
    this.#bufferedBytes += chunk.length
    if (this.#bufferedBytes > (isSuccessful ? maxBufferedBytes : maxErrorBytes))
      throw refusal('upstream_response_too_large', 'the response of the catalog is too large')
    if (isSuccessful) this.#options.reserveMemory?.(chunk.length)
    this.#buffered?.add(chunk)
  }

  #resolveResponse(): void {
    const body = this.#buffered && withoutByteOrderMark(this.#buffered.concat())
    this.#resolve({ status: this.#status, headers: this.#headers, body })
  }

  #progress(): AttemptFailed['progress'] {
    if (this.#status !== 0) return 'responding'
    return this.#mayHaveBeenSent ? 'sent' : 'unsent'
  }

  #forward(chunk: Buffer, release: WriteCallback | undefined): void {
    if (!this.#isStreaming) this.#options.response.onDrain.add(this.#resume)
    this.#isStreaming = true
    const isTaken = this.#options.response.write(chunk, release)
    if (!isTaken) this.#controller?.pause()
    if (!isTaken || release !== undefined) this.#startSendTimer()
  }

  /** The last part is written last, so the chunk is not needed any more then. */
  #forwardFiltered(parts: readonly Buffer[], release?: WriteCallback): void {
    if (parts.length === 0) release?.()
    else if (!this.#options.response.hasHead) this.#options.response.writeHead(this.#status, this.#headers)
    for (const [index, part] of parts.entries())
      this.#forward(part, index === parts.length - 1 ? release : undefined)
  }

  /** Waiting for a slow client does not count as slowness of the upstream: it has a timeout of its own. */
  #startSendTimer(): void {
    if (this.#sendTimer !== undefined) {
      this.#sendTimer.refresh()
      return
    }
    const expire = ownedBy(this.#options.response, () => {
      if (this.#controller?.isBlocked === true)
        this.#abort(new ClientDisconnected('send timeout: the client does not read the response'))
    })
    this.#sendTimer = setTimeout(expire, this.#upstream.bounds.sendTimeoutMs)
  }

  #abort(reason: Error): void {
    this.#controller?.abort(reason)
  }

  #detach(): void {
    clearTimeout(this.#sendTimer)
    if (this.#options.abortsWithClient) this.#options.response.onClose.delete(this.#clientClosed)
    if (this.#isStreaming) this.#options.response.onDrain.delete(this.#resume)
  }

  readonly #resume = (): void => this.#controller?.resume()

  readonly #clientClosed = (): void => this.#abort(new ClientDisconnected())
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** Combines the allowed headers of the response, except hop-by-hop ones, with those of the gateway. */
function filterHeaders(
  sent: readonly string[],
  isAllowed: (name: string) => boolean,
  own: readonly string[],
): string[] {
  const headers: string[] = []
  let listed: Set<string> | undefined
  for (let index = 0; index < sent.length; index += 2) {
    const name = sent[index] ?? ''
    const value = sent[index + 1] ?? ''
    if (name === 'connection') listed = new Set([...(listed ?? []), ...parseConnectionTokens(value)])
    if (isAllowed(name)) {
      headers.push(name, name === lancedbServerHeader ? limitLancedbServerVersion(value) : value)
    }
  }
  const passed = listed === undefined ? headers : removeHeaders(headers, listed)
  for (let index = 0; index < own.length; index += 2) {
    const name = own[index] ?? ''
    // The version header of the upstream takes precedence over that of the gateway.
    if (name !== lancedbServerHeader || !passed.includes(name)) passed.push(name, own[index + 1] ?? '')
  }
  return passed
}
