import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { hopByHopHeaders, requestIdHeader } from '../interface/headers.ts'
import { ClientGone } from './client-gone.ts'

/** What goes to the upstream. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: string[]
  readonly body: Buffer | Readable | null
}

/** How an exchange with the upstream ended. */
export interface UpstreamAnswer {
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
export interface Client {
  readonly response: ServerResponse
  readonly requestId: string
  /** Whether an answer of success is held back until it is complete, for the gateway to read first. Errors always are. */
  readonly holdsBack: boolean
  /** Whether the exchange ends when the client goes away. A change goes on, so that its outcome is known. */
  readonly endsWithClient: boolean
}

/** Where an exchange takes place, and how long it may take. */
export interface ExchangeBounds {
  readonly pool: Dispatcher
  /** Milliseconds for all of it, and for a client to take something of an answer that streams to it. */
  readonly timeouts: { readonly totalMs: number; readonly takeMs: number }
}

/** The most bytes of an answer that is held back; of an error, the rest is not read. */
const maximumHeldBytes = 16 * 1024 * 1024
const maximumErrorBytes = 64 * 1024

/** An exchange that did not end with an answer; the cause says why. */
export class ExchangeFailed extends Error {
  override readonly name = 'ExchangeFailed'
  /** `unsent`: no byte went upstream. `sent`: some may have. `answered`: the answer had begun. */
  readonly progress: 'unsent' | 'sent' | 'answered'

  constructor(progress: ExchangeFailed['progress'], cause: unknown) {
    super(`the exchange with the upstream failed (${progress})`, { cause })
    this.progress = progress
  }
}

/** The upstream sent more of an answer than the gateway reads into memory. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge'
}

/** The exchange took longer than any may. */
export class ExchangeTimedOut extends Error {
  override readonly name = 'ExchangeTimedOut'
}

/**
 * Runs one exchange with the upstream. An answer of success streams to the client as it comes, no faster than the
 * client reads, unless the client holds it back. Rejects with ExchangeFailed; once an answer has begun to stream,
 * with the connection to the client cut, so that a broken answer never looks whole.
 */
export function exchange(
  bounds: ExchangeBounds,
  request: UpstreamRequest,
  client: Client,
): Promise<UpstreamAnswer> {
  return new Promise((resolve, reject) => {
    const relay = new Relay(client, bounds.timeouts, resolve, reject)
    bounds.pool.dispatch({ ...request, idempotent: false }, relay)
  })
}

/** Takes the answer from undici piece by piece. */
class Relay implements Dispatcher.DispatchHandler {
  readonly #client: Client
  readonly #takeMs: number
  readonly #resolve: (answer: UpstreamAnswer) => void
  readonly #reject: (error: ExchangeFailed) => void
  readonly #deadline: NodeJS.Timeout
  #stall: NodeJS.Timeout | undefined
  #controller: Dispatcher.DispatchController | undefined
  #given: Error | undefined
  #status = 0
  #headers: readonly string[] = []
  #held: Buffer[] | undefined
  #heldBytes = 0

  constructor(
    client: Client,
    { totalMs, takeMs }: ExchangeBounds['timeouts'],
    resolve: (answer: UpstreamAnswer) => void,
    reject: (error: ExchangeFailed) => void,
  ) {
    this.#client = client
    this.#takeMs = takeMs
    this.#resolve = resolve
    this.#reject = reject
    this.#deadline = setTimeout(() => this.#giveUp(new ExchangeTimedOut('it took too long')), totalMs)
    if (client.endsWithClient) client.response.once('close', this.#clientClosed)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#given === undefined) this.#controller = controller
    else controller.abort(this.#given)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.#status = status
    this.#headers = endToEnd(controller.rawHeaders as Buffer[], this.#client.requestId)
    const { response, holdsBack } = this.#client
    if (holdsBack || !isSuccess(status)) {
      this.#held = []
    } else {
      response.writeHead(status, [...this.#headers])
      response.on('drain', this.#resume)
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#held === undefined) {
      if (!this.#client.response.write(chunk)) this.#pause(controller)
      return
    }
    this.#heldBytes += chunk.length
    if (this.#heldBytes > (isSuccess(this.#status) ? maximumHeldBytes : maximumErrorBytes)) {
      controller.abort(new AnswerTooLarge(`an answer of more than ${this.#heldBytes} bytes`))
    } else {
      this.#held.push(chunk)
    }
  }

  onResponseEnd(): void {
    this.#detach()
    if (this.#held === undefined) this.#client.response.end()
    this.#answer()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#detach()
    // Whatever cut the body of an error short, the upstream has said how the request ended.
    const isRefusal = this.#status !== 0 && !isSuccess(this.#status)
    if (isRefusal && !(error instanceof ClientGone)) {
      this.#answer()
      return
    }
    if (this.#client.response.headersSent) this.#client.response.destroy()
    this.#reject(new ExchangeFailed(this.#progress(), error))
  }

  #answer(): void {
    const body = this.#held === undefined ? undefined : Buffer.concat(this.#held)
    this.#resolve({ status: this.#status, headers: this.#headers, body })
  }

  #progress(): ExchangeFailed['progress'] {
    if (this.#status !== 0) return 'answered'
    return this.#controller === undefined ? 'unsent' : 'sent'
  }

  /** An upstream that waits for a slow client is not slow itself: that wait has a bound of its own. */
  #pause(controller: Dispatcher.DispatchController): void {
    controller.pause()
    if (this.#stall !== undefined) {
      this.#stall.refresh()
      return
    }
    this.#stall = setTimeout(() => {
      if (controller.paused)
        this.#giveUp(new ClientGone('the client took nothing of its answer for too long'))
    }, this.#takeMs)
  }

  /** Before the request has a connection there is nothing to abort: then it ends as it gets one. */
  #giveUp(reason: Error): void {
    this.#given ??= reason
    this.#controller?.abort(reason)
  }

  #detach(): void {
    clearTimeout(this.#deadline)
    clearTimeout(this.#stall)
    this.#client.response.off('close', this.#clientClosed)
    this.#client.response.off('drain', this.#resume)
  }

  readonly #resume = (): void => this.#controller?.resume()

  readonly #clientClosed = (): void => this.#giveUp(new ClientGone('the client closed the connection'))
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** The headers of the upstream that concern more than its own connection, and the request id of the gateway. */
function endToEnd(raw: readonly Buffer[], requestId: string): readonly string[] {
  const headers: string[] = []
  const listed = new Set<string>()
  for (let index = 0; index < raw.length; index += 2) {
    const name = String(raw[index]).toLowerCase()
    const value = raw[index + 1]?.toString('latin1') ?? ''
    if (name === 'connection') for (const token of value.toLowerCase().split(',')) listed.add(token.trim())
    if (!hopByHopHeaders.has(name) && name !== requestIdHeader) headers.push(name, value)
  }
  headers.push(requestIdHeader, requestId)
  if (listed.size === 0) return headers
  return headers.filter((_, index) => !listed.has(headers[index - (index % 2)] ?? ''))
}
