import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { hopByHopHeaders, requestIdHeader } from '../interface/headers.ts'

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
  /** The whole body, or undefined where it has been streamed to the client already. */
  readonly body: Buffer | undefined
}

/** How the client takes part while the exchange runs. */
export interface Client {
  readonly response: ServerResponse
  readonly requestId: string
  /** Whether an answer of that status is held back until it is complete, for the gateway to read first. */
  holdsBack(status: number): boolean
  /** Whether the exchange ends when the client goes away. A change goes on, so that its outcome is known. */
  readonly endsWithClient: boolean
}

/** The most bytes of an answer that is held back. */
const maximumHeldBytes = 16 * 1024 * 1024

/** The upstream sent more of an answer than the gateway reads into memory. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge'
}

/**
 * Runs one exchange with the upstream. The answer streams to the client as it comes, no faster than the client
 * reads, unless the client holds it back. Rejects with the error of the transport; once an answer has begun to
 * stream, with the connection to the client cut, so that a broken answer never looks whole.
 */
export function exchange(
  pool: Dispatcher,
  request: UpstreamRequest,
  client: Client,
): Promise<UpstreamAnswer> {
  return new Promise((resolve, reject) => {
    const relay = new Relay(client, resolve, reject)
    pool.dispatch({ ...request, idempotent: false }, relay)
  })
}

/** Takes the answer from undici piece by piece. */
class Relay implements Dispatcher.DispatchHandler {
  readonly #client: Client
  readonly #resolve: (answer: UpstreamAnswer) => void
  readonly #reject: (error: unknown) => void
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: readonly string[] = []
  #held: Buffer[] | undefined
  #heldBytes = 0

  constructor(client: Client, resolve: (answer: UpstreamAnswer) => void, reject: (error: unknown) => void) {
    this.#client = client
    this.#resolve = resolve
    this.#reject = reject
    if (client.endsWithClient) client.response.once('close', this.#clientClosed)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#client.endsWithClient && this.#client.response.destroyed) this.#clientClosed()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.#status = status
    this.#headers = endToEnd(controller.rawHeaders as Buffer[], this.#client.requestId)
    const { response } = this.#client
    if (this.#client.holdsBack(status)) {
      this.#held = []
    } else {
      response.writeHead(status, [...this.#headers])
      response.on('drain', this.#resume)
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#held === undefined) {
      if (!this.#client.response.write(chunk)) controller.pause()
      return
    }
    this.#heldBytes += chunk.length
    if (this.#heldBytes > maximumHeldBytes) {
      controller.abort(new AnswerTooLarge(`an answer of more than ${maximumHeldBytes} bytes`))
    } else {
      this.#held.push(chunk)
    }
  }

  onResponseEnd(): void {
    this.#detach()
    const body = this.#held === undefined ? undefined : Buffer.concat(this.#held)
    if (body === undefined) this.#client.response.end()
    this.#resolve({ status: this.#status, headers: this.#headers, body })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#detach()
    if (this.#client.response.headersSent) this.#client.response.destroy()
    this.#reject(error)
  }

  #detach(): void {
    this.#client.response.off('close', this.#clientClosed)
    this.#client.response.off('drain', this.#resume)
  }

  readonly #resume = (): void => this.#controller?.resume()

  readonly #clientClosed = (): void =>
    this.#controller?.abort(new ClientGone('the client closed the connection'))
}

/** The client went away before its answer was complete. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
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
