import { lancedbServerHeader } from '../../catalog-api/headers.ts'
import type { CapacityHolder } from '../../limits/overload/fair-capacity.ts'
import type { RequestSpans } from '../../observability/traces/request-spans.ts'
import { scheduleAtTickEnd } from '../../lib/async/schedule-at-tick-end.ts'
import type { OutgoingResponse } from '../../http1/server/outgoing-response.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import type { ResponseHead } from '../../http1/client/response-head.ts'
import type { RequestController, ResponseHandler } from '../../http1/client/request-controller.ts'
import type { OutgoingRequest } from '../../http1/client/outgoing-request.ts'
import type { Http1Client } from '../../http1/client/http1-client.ts'
import type { PoolName } from './connection-slots.ts'

/** What goes to the upstream. */
export type UpstreamRequest = OutgoingRequest

/** How an exchange with the upstream ended. */
export interface UpstreamResponse {
  readonly status: number
  /** Names and values in turn: what may go on to the client. */
  readonly headers: readonly string[]
  /**
   * The whole body, or undefined where it has been streamed to the client already. That of an error may be cut
   * short: its status says enough.
   */
  readonly body: Buffer | undefined
}

/** How the client takes part while the exchange runs. */
export interface UpstreamCallOptions {
  readonly response: OutgoingResponse
  /** Names and values in turn: what the gateway itself says in the head of the answer. */
  readonly headers: readonly string[]
  /** Whether an answer of success is held back until it is complete, for the gateway to read first. Errors always are. */
  readonly buffersResponse: boolean
  /** Whether the exchange ends when the client goes away. A change goes on, so that its outcome is known. */
  readonly abortsWithClient: boolean
  /** The connection pool that the request belongs to, and who holds the slot. */
  readonly pool: PoolName
  readonly holder: CapacityHolder
  /** Where traces are on: each exchange is a span of its own. */
  readonly spans: RequestSpans | undefined
}

/** Where an exchange takes place, and how long it may stand still. */
export interface AttemptUpstream {
  readonly client: Http1Client
  /** The headers of the answer that the client gets. */
  readonly allowedResponseHeaders: ReadonlySet<string>
  /** Milliseconds for a client to take something of an answer that streams to it. */
  readonly timeouts: { readonly sendTimeoutMs: number }
}

/** The most bytes of an answer that is held back; of an error, the rest is not read. */
const maxBufferedBytes = 16 * 1024 * 1024
const maxErrorBytes = 64 * 1024

/** An exchange that did not end with an answer; the cause says why. */
export class AttemptFailed extends Error {
  override readonly name = 'ExchangeFailed'
  /** `unsent`: no byte went upstream. `sent`: some may have. `answered`: the answer had begun. */
  readonly progress: 'unsent' | 'sent' | 'answered'

  constructor(progress: AttemptFailed['progress'], cause: unknown) {
    super(`the upstream request failed (${progress})`, { cause })
    this.progress = progress
  }
}

/** The upstream sent more of an answer than the gateway reads into memory. */
export class ResponseTooLarge extends Error {
  override readonly name = 'AnswerTooLarge'
}

/**
 * Runs one exchange with the upstream. An answer of success streams to the client as it comes, no faster than the
 * client reads, unless the client holds it back. Rejects with ExchangeFailed; once an answer has begun to stream,
 * with the connection to the client cut, so that a broken answer never looks whole.
 */
export function runAttempt(
  upstream: AttemptUpstream,
  request: UpstreamRequest,
  options: UpstreamCallOptions,
  isRetry: boolean,
): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    const relay = new ResponseRelay(options, upstream, resolve, reject)
    relay.start(upstream.client, request, isRetry)
  })
}

/** Takes the answer of the upstream piece by piece. */
class ResponseRelay implements ResponseHandler {
  readonly #options: UpstreamCallOptions
  readonly #sendTimeoutMs: number
  readonly #allowedHeaders: ReadonlySet<string>
  readonly #resolve: (response: UpstreamResponse) => void
  readonly #reject: (error: AttemptFailed) => void
  #sendTimer: NodeJS.Timeout | undefined
  #controller: RequestController | undefined
  #isSent = false
  #status = 0
  #headers: string[] = []
  #isStreaming = false
  #buffered: Buffer[] | undefined
  #bufferedBytes = 0

  constructor(
    client: UpstreamCallOptions,
    { timeouts, allowedResponseHeaders }: AttemptUpstream,
    resolve: (response: UpstreamResponse) => void,
    reject: (error: AttemptFailed) => void,
  ) {
    this.#options = client
    this.#sendTimeoutMs = timeouts.sendTimeoutMs
    this.#allowedHeaders = allowedResponseHeaders
    this.#resolve = resolve
    this.#reject = reject
    if (client.abortsWithClient) client.response.onClose.add(this.#clientClosed)
  }

  /** A repeat does not go over a connection that may have ended unnoticed, like that of the attempt before it. */
  start(client: Http1Client, request: UpstreamRequest, isRepeat: boolean): void {
    this.#controller = client.dispatch(request, this, isRepeat)
  }

  onRequestStart(): void {
    this.#isSent = true
  }

  onResponseStart({ status, headers }: ResponseHead): void {
    this.#status = status
    this.#headers = filterHeaders(headers, this.#allowedHeaders, this.#options.headers)
    const { response, buffersResponse } = this.#options
    if (buffersResponse || !isSuccess(status)) this.#buffered = []
    else response.writeHead(status, this.#headers)
  }

  onResponseData(chunk: Buffer, release: (() => void) | undefined): void {
    if (this.#buffered === undefined) {
      this.#forward(chunk, release)
      return
    }
    if (!this.#buffer(release === undefined ? chunk : Buffer.from(chunk))) this.#abort(this.#createTooLarge())
    release?.()
  }

  onResponseEnd(last: Buffer | undefined): void {
    if (this.#buffered !== undefined && last !== undefined && !this.#buffer(Buffer.from(last))) {
      this.onResponseError(this.#createTooLarge())
      return
    }
    this.#detach()
    if (this.#buffered !== undefined) this.#resolveResponse()
    else this.#endResponse(last)
  }

  onResponseError(error: Error): void {
    this.#detach()
    // Whatever cut the body of an error short, the upstream has said how the request ended.
    const isRefusal = this.#status !== 0 && !isSuccess(this.#status)
    if (isRefusal && !(error instanceof ClientDisconnected)) {
      this.#resolveResponse()
      return
    }
    if (this.#options.response.hasHead) this.#options.response.destroy()
    this.#reject(new AttemptFailed(this.#progress(), error))
  }

  /** Whether there is room for it. */
  #buffer(chunk: Buffer): boolean {
    this.#bufferedBytes += chunk.length
    const isHeld = this.#bufferedBytes <= (isSuccess(this.#status) ? maxBufferedBytes : maxErrorBytes)
    if (isHeld) this.#buffered?.push(chunk)
    return isHeld
  }

  #createTooLarge(): ResponseTooLarge {
    return new ResponseTooLarge(`response larger than ${this.#bufferedBytes} bytes`)
  }

  #endResponse(last: Buffer | undefined): void {
    const { response } = this.#options
    // As text of one byte a character it goes into one write with the head of a short answer.
    const text = last?.toString('latin1')
    scheduleAtTickEnd(() => response.end(text))
    this.#resolveResponse()
  }

  #resolveResponse(): void {
    const body = this.#buffered === undefined ? undefined : Buffer.concat(this.#buffered)
    this.#resolve({ status: this.#status, headers: this.#headers, body })
  }

  #progress(): AttemptFailed['progress'] {
    if (this.#status !== 0) return 'answered'
    return this.#isSent ? 'sent' : 'unsent'
  }

  /** A piece that is lent is given back when the client has it; where the client went away, nobody may reuse it. */
  #forward(chunk: Buffer, release: (() => void) | undefined): void {
    if (!this.#isStreaming) this.#options.response.onDrain.add(this.#resume)
    this.#isStreaming = true
    const isTaken = this.#options.response.write(chunk, release && ((error) => !error && release()))
    if (!isTaken) this.#controller?.pause()
    if (!isTaken || release !== undefined) this.#startSendTimer()
  }

  /** An upstream that waits for a slow client is not slow itself: that wait has a bound of its own. */
  #startSendTimer(): void {
    if (this.#sendTimer !== undefined) {
      this.#sendTimer.refresh()
      return
    }
    this.#sendTimer = setTimeout(() => {
      if (this.#controller?.isBlocked === true)
        this.#abort(new ClientDisconnected('send timeout: the client does not read the response'))
    }, this.#sendTimeoutMs)
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

  readonly #clientClosed = (): void => this.#abort(new ClientDisconnected('the client closed the connection'))
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** The headers of the upstream that its settings let pass and its connection does not keep, and those of the gateway. */
function filterHeaders(
  sent: readonly string[],
  names: ReadonlySet<string>,
  own: readonly string[],
): string[] {
  const headers: string[] = []
  let listed: Set<string> | undefined
  for (let index = 0; index < sent.length; index += 2) {
    const name = sent[index] ?? ''
    const value = sent[index + 1] ?? ''
    if (name === 'connection') {
      listed ??= new Set()
      for (const token of value.toLowerCase().split(',')) listed.add(token.trim())
    }
    if (names.has(name)) headers.push(name, value)
  }
  const passed =
    listed === undefined
      ? headers
      : headers.filter((_, index) => !listed.has(headers[index - (index % 2)] ?? ''))
  for (let index = 0; index < own.length; index += 2) {
    const name = own[index] ?? ''
    // Only of the version of LanceDB the upstream knows more.
    if (name !== lancedbServerHeader || !passed.includes(name)) passed.push(name, own[index + 1] ?? '')
  }
  return passed
}
