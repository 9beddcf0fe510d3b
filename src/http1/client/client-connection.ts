import type { Socket } from 'node:net'
import { ownedBy, scheduleAtTickEnd } from '../../lib/index.ts'
import { MessageWriter } from '../codec/message-writer.ts'
import { SocketReader, type SocketReaderHandler } from '../codec/socket-reader.ts'
import type { OpenCallback, OutboundTarget, SocketOpener } from '../../outbound/index.ts'
import { deferWriteErrors, sendBody, serializeRequestHead } from './outgoing-request.ts'
import type { ControlledConnection, RequestController } from './request-controller.ts'
import type { ResponseHead } from './response-head.ts'
import { ResponseParser, type ResponseParserHandler } from './response-parser.ts'
import { TransportError } from './transport-error.ts'

/** In milliseconds. */
export interface ClientTimeouts {
  /** For the connection, TLS included. */
  readonly connectTimeoutMs: number
  /** From the end of the request to the head of the response, or between two chunks of a streamed request body. */
  readonly headersTimeoutMs: number
  /** Between two chunks of a response. */
  readonly bodyTimeoutMs: number
  /** From the dispatch of a request to the end of its response. */
  readonly totalTimeoutMs: number
}

export interface ConnectionOwner {
  readonly host: string
  readonly timeouts: ClientTimeouts
  readonly opener: SocketOpener
  readonly target: OutboundTarget
  onIdle(connection: ClientConnection): void
  onClose(connection: ClientConnection): void
}

type State =
  | { readonly kind: 'connecting'; readonly controller: RequestController }
  /** The request is written at the end of the tick. */
  | { readonly kind: 'scheduled'; readonly controller: RequestController }
  | Active
  | { readonly kind: 'idle'; readonly until: number }
  | { readonly kind: 'closed' }

/** The request is being sent, or its response received: an upstream may respond before the request is complete. */
interface Active {
  readonly kind: 'active'
  readonly controller: RequestController
  readonly parser: ResponseParser
  isSent: boolean
  stopSending: (() => void) | undefined
  response: ResponseHead | undefined
}

const closed: State = { kind: 'closed' }

/**
 * Of the request before, while the next one is written behind it. Node reports a write to TLS as complete one iteration of
 * the event loop later, and a fast upstream responds before that. More is left only if the upstream has responded without
 * reading the request: the next one could be stuck behind it.
 */
const maxUnwrittenBytes = 64 * 1024

/**
 * Carries one request at a time. Is reused only if the whole request was passed to the socket, which writes in order, and
 * nothing follows its response.
 */
export class ClientConnection implements ControlledConnection, ResponseParserHandler, SocketReaderHandler {
  #state: State
  readonly #owner: ConnectionOwner
  /** TLS material at the time of opening. */
  readonly #material: SocketOpener['material']
  readonly #closeSocket: () => void
  /** Undefined until it is connected. */
  #socket: Socket | undefined
  readonly #reader = new SocketReader(this)
  #lastActivityAt = 0

  constructor(owner: ConnectionOwner, controller: RequestController) {
    this.#owner = owner
    this.#material = owner.opener.material
    this.#state = { kind: 'connecting', controller }
    controller.attach(this)
    this.#closeSocket = owner.opener.open(
      owner.target,
      owner.timeouts.connectTimeoutMs,
      ownedBy(this, (...[error, socket]: Parameters<OpenCallback>) => {
        if (error === null) this.#onConnect(socket)
        else this.close(error)
      }),
      this.#reader.onread,
    )
  }

  get isConnected(): boolean {
    return this.#state.kind !== 'connecting' && this.#state.kind !== 'closed'
  }

  get isPaused(): boolean {
    return this.#socket?.isPaused() === true
  }

  isReusable(now: number): boolean {
    const state = this.#state
    return (
      state.kind === 'idle' &&
      now < state.until &&
      this.#socket !== undefined &&
      this.#socket.writableLength <= maxUnwrittenBytes &&
      this.#owner.opener.material === this.#material
    )
  }

  /** Only for a reusable connection. */
  send(controller: RequestController): void {
    this.#state = { kind: 'scheduled', controller }
    controller.attach(this)
    this.#lastActivityAt = performance.now()
    scheduleAtTickEnd(this, () => this.#start(controller))
  }

  applyFlowControl(): void {
    if (this.#state.kind !== 'closed') this.#reader.applyFlowControl()
  }

  checkTimeouts(now: number): void {
    const state = this.#state
    const { headersTimeoutMs, bodyTimeoutMs, totalTimeoutMs } = this.#owner.timeouts
    if (state.kind === 'closed') return
    if (state.kind === 'idle') {
      if (!this.isReusable(now)) this.close()
      return
    }
    if (now - state.controller.startedAt > totalTimeoutMs) {
      this.close(new TransportError('REQUEST_TIMEOUT', 'the request took too long'))
      return
    }
    const socket = this.#socket
    if (state.kind !== 'active' || socket === undefined) return
    // A paused response is the gateway's own delay, not that of the upstream.
    if (socket.isPaused()) this.#lastActivityAt = now
    const inactiveMs = now - this.#lastActivityAt
    if (state.response !== undefined) {
      if (inactiveMs > bodyTimeoutMs)
        this.close(new TransportError('BODY_TIMEOUT', 'the response did not continue in time'))
    } else if (inactiveMs > headersTimeoutMs && (state.isSent || socket.writableNeedDrain)) {
      this.close(new TransportError('HEADERS_TIMEOUT', 'the response did not start in time'))
    }
  }

  /** Closes the connection; its request fails with the reason. */
  close(reason: Error = new TransportError('CLIENT_CLOSED', 'the client is closed')): void {
    const state = this.#state
    if (state.kind === 'closed') return
    this.#destroy()
    if ('controller' in state) state.controller.handler.onResponseError(reason)
  }

  fail(error: Error): void {
    this.close(error)
  }

  get retainsChunks(): boolean {
    return this.#state.kind === 'active' && this.#state.response !== undefined
  }

  get wantsPause(): boolean {
    const state = this.#state
    return 'controller' in state && state.controller.isPaused
  }

  onBytes(bytes: Buffer): void {
    const state = this.#state
    if (state.kind !== 'active') {
      this.close(new TransportError('BAD_RESPONSE', 'there is a response without a request'))
      return
    }
    this.#lastActivityAt = performance.now()
    state.parser.parse(bytes)
  }

  onResponseStart(head: ResponseHead): void {
    const state = this.#state
    if (state.kind !== 'active') return
    state.response = head
    state.controller.handler.onResponseStart(head)
  }

  onResponseData(chunk: Buffer): void {
    const state = this.#state
    if (state.kind !== 'active') return
    const release = this.#reader.retain(chunk)
    state.controller.handler.onResponseData(release ? chunk : this.#reader.copy(chunk), release)
    this.applyFlowControl()
  }

  onResponseEnd(last: Buffer | undefined): void {
    const state = this.#state
    if (state.kind !== 'active') return
    const keepAliveMs = state.response?.keepAliveMs ?? 0
    if (state.isSent && keepAliveMs > 0) {
      detachRequest(state)
      this.#state = { kind: 'idle', until: performance.now() + keepAliveMs }
      this.applyFlowControl()
      this.#owner.onIdle(this)
    } else {
      this.#destroy()
    }
    const { handler } = state.controller
    // The connection does not belong to the request any more.
    ownedBy({ fail: (error) => handler.onResponseError(error) }, () => handler.onResponseEnd(last))()
  }

  #onConnect(socket: Socket): void {
    this.#socket = socket
    deferWriteErrors(socket)
    this.#reader.attach(socket)
    socket
      .once('end', ownedBy(this, this.#onEnd))
      .once(
        'error',
        ownedBy(this, (error: Error) => this.close(error)),
      )
      .once('close', ownedBy(this, this.#onClose))
    const state = this.#state
    if (state.kind === 'connecting') this.#start(state.controller)
    this.applyFlowControl()
  }

  /** Has no effect on a request that was aborted meanwhile. */
  #start(controller: RequestController): void {
    const before = this.#state
    const socket = this.#socket
    if ((before.kind !== 'connecting' && before.kind !== 'scheduled') || before.controller !== controller)
      return
    if (socket === undefined) return
    const state: Active = {
      kind: 'active',
      controller,
      parser: new ResponseParser(this, controller.request.method === 'HEAD'),
      isSent: false,
      stopSending: undefined,
      response: undefined,
    }
    this.#state = state
    this.#lastActivityAt = performance.now()
    const head = serializeRequestHead(controller.request, this.#owner.host)
    controller.handler.onRequestStart()
    if (this.#state === state) this.#write(socket, state, head)
  }

  #write(socket: Socket, state: Active, head: ReturnType<typeof serializeRequestHead>): void {
    const { body } = state.controller.request
    if (body === null || Buffer.isBuffer(body)) {
      state.isSent = true
      new MessageWriter(this, socket, head.text, false).end(body ?? '')
      return
    }
    state.stopSending = sendBody(socket, head, body, {
      onProgress: () => (this.#lastActivityAt = performance.now()),
      onSent: () => {
        state.isSent = true
        state.stopSending = undefined
        this.#lastActivityAt = performance.now()
      },
      onError: (error) => this.close(error),
    })
  }

  readonly #onEnd = (): void => {
    const state = this.#state
    if (state.kind === 'active') state.parser.finish()
    this.close(new TransportError('CONNECTION_CLOSED', 'the upstream closed the connection'))
  }

  readonly #onClose = (): void => {
    this.#reader.close()
    this.close(new TransportError('CONNECTION_CLOSED', 'the connection was closed'))
  }

  #destroy(): void {
    const state = this.#state
    this.#state = closed
    if ('controller' in state) detachRequest(state)
    this.#closeSocket()
    this.#owner.onClose(this)
  }
}

function detachRequest(state: Extract<State, { controller: RequestController }>): void {
  state.controller.attach(undefined)
  if (state.kind !== 'active') return
  state.parser.stop()
  state.stopSending?.()
}
