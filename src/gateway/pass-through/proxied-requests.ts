import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CatalogError, refusal, requestIdHeader } from '../../catalog-api/index.ts'
import { IncomingRequest, RequestError } from '../../http1/index.ts'
import { ownedBy, readConnectionAddresses } from '../../lib/index.ts'
import { ByteCount, limitSending, readNodeHead } from '../../node-http/index.ts'
import { clientBounds } from '../bounds.ts'
import { ClientDisconnected } from '../downstream.ts'
import { toCatalogError } from '../error-response.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import { receive } from '../stages/receive.ts'
import { Trace } from '../trace.ts'
import {
  admitRequest,
  type AdmitOptions,
  type AdmittedRequest,
  type PassThroughRoute,
} from './admit-request.ts'
import { keepRequestHeaders, keepResponseHeaders } from './forwarded.ts'

/** A request from its head to the end of its response or WebSocket connection. */
interface ProxiedRequest {
  readonly trace: Trace
  /** Aborted at that end, or with the error that ends it. */
  readonly end: AbortController
  /** Undefined before. */
  admitted: AdmittedRequest | undefined
}

/** Whether a request asks for a WebSocket connection (RFC 6455, section 4.1). Other upgrades are ignored (RFC 9110, 7.8). */
export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** The requests of the pass-through port, observed and refused like those of the catalog. */
export class ProxiedRequests {
  readonly #observer: RequestObserver
  readonly #routes: readonly PassThroughRoute[]
  readonly #options: AdmitOptions
  readonly #started = new WeakMap<object, ProxiedRequest>()

  constructor(observer: RequestObserver, routes: readonly PassThroughRoute[], options: AdmitOptions) {
    this.#observer = observer
    this.#routes = routes
    this.#options = options
  }

  /** Rejects with CatalogError unless the request may be forwarded. */
  async admit({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> {
    const request = this.#read(raw)
    const trace = new Trace(request)
    void reply.header(requestIdHeader, trace.requestId)
    this.#observer.requestStarted(trace, request)
    const { sendTimeoutMs } = clientBounds
    limitSending(reply.raw, request, sendTimeoutMs, this.#observer.connectionRejected, () =>
      request.destroy(),
    )
    const end = new AbortController()
    const started: ProxiedRequest = { trace, end, admitted: undefined }
    this.#started.set(raw, started)
    this.#observe(reply, request, started, isWebSocket(raw))
    const received = trace.enter('match', receive(request, this.#options, trace.requestId))
    started.admitted = await admitRequest(received, isWebSocket(raw), trace, end, this.#routes, this.#options)
    // The plugin reads it.
    raw.url = received.head.target
  }

  /** Sends the response to a request that failed. */
  readonly refuse = (cause: unknown, { raw }: FastifyRequest, reply: FastifyReply): void => {
    if (reply.raw.destroyed) {
      reply.hijack()
      return
    }
    const started = this.#started.get(raw)
    const error = toPassThroughError(cause)
    const requestId = started?.trace.requestId ?? randomUUID()
    if (started) this.#observer.requestRefused(started.trace, error)
    else
      this.#observer.connectionRejected(
        'malformed_request',
        readConnectionAddresses(raw.socket),
        error.message,
      )
    // Neither the rest of an upload nor another protocol is read.
    if (!raw.complete || raw.headers.upgrade !== undefined) void reply.header('connection', 'close')
    void reply
      .code(error.status)
      .headers({ 'content-type': 'application/json', [requestIdHeader]: requestId, ...error.headers })
      // Fastify adds a charset to text.
      .send(Buffer.from(JSON.stringify(error.toResponse(requestId))))
  }

  /** The headers of an admitted request that its upstream gets. */
  headersFor(route: PassThroughRoute, raw: IncomingMessage): IncomingHttpHeaders {
    const { head } = this.#find(route, raw).admitted
    return { ...keepRequestHeaders(raw.headers), [requestIdHeader]: head.requestId }
  }

  /** Redirects are not followed, nothing is sent again, and a client that leaves aborts its request. */
  async forward(
    route: PassThroughRoute,
    { raw, body }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { admitted, end } = this.#find(route, raw)
    // One without `connection: upgrade`.
    if (admitted.isUpgrade) throw refusal('upgrade_not_allowed', 'malformed WebSocket handshake')
    const { method, target } = admitted.head
    const response = await route.pool
      .request({
        method,
        path: admitted.upstreamPath + (/\?.*/.exec(target)?.[0] ?? ''),
        headers: this.headersFor(route, raw),
        body: body instanceof Readable ? body : null,
        signal: end.signal,
      })
      .catch(failUpstream)
    const { href } = new URL(admitted.upstreamPath, route.origin)
    void reply
      .code(response.statusCode)
      .headers(keepResponseHeaders(response.headers, route.paths, href))
      .send(response.body)
    // Events may come late.
    reply.raw.flushHeaders()
    return reply
  }

  #find(route: PassThroughRoute, raw: IncomingMessage) {
    const { admitted, end } = this.#started.get(raw) ?? {}
    if (admitted?.route !== route || end === undefined) throw new Error('the request was not admitted')
    return { admitted, end }
  }

  #read(raw: IncomingMessage): IncomingRequest {
    const { socket } = raw
    const addresses = readConnectionAddresses(socket)
    return new IncomingRequest(readNodeHead(raw), performance.now(), {
      socket,
      addresses,
      applyFlowControl: () => undefined,
      destroy: () => socket.destroy(),
      fail: (error) => {
        socket.destroy()
        this.#observer.connectionRejected('internal_error', addresses, error.stack)
      },
    })
  }

  /** Reports the end of the response, or that of the connection if it serves WebSocket. */
  #observe(
    reply: FastifyReply,
    request: IncomingRequest,
    { trace, end }: ProxiedRequest,
    isUpgrade: boolean,
  ): void {
    const { socket } = request
    const { raw: response } = reply
    const bytes = new ByteCount(socket)
    const onEnd = ownedBy(request, () => {
      end.abort(new ClientDisconnected('the client closed the connection'))
      const isTunnel = isUpgrade && reply.sent && !response.headersSent
      this.#observer.requestEnded(trace, {
        status: isTunnel ? 101 : response.statusCode,
        hasHead: isTunnel || response.headersSent,
        isComplete: isTunnel || response.writableFinished,
        bytesReceived: bytes.received,
        bytesSent: bytes.sent,
      })
      bytes.end()
    })
    if (!isUpgrade) {
      response.once('close', onEnd)
      return
    }
    socket.once('close', onEnd)
    end.signal.addEventListener('abort', () => socket.destroy())
  }
}

/** The error that a client gets for any other: internal, or that of what it sent. */
function toPassThroughError(error: unknown): CatalogError {
  if (error instanceof RequestError) return refusal('malformed_request', 'malformed HTTP/1.1 request')
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 0
  return status >= 400 && status < 500
    ? refusal('invalid_request', 'the request cannot be forwarded as it was sent', { cause: error })
    : toCatalogError(error)
}

/** Throws what a client gets for a request that failed: the error that ended it, or 502 or 504. */
function failUpstream(cause: unknown): never {
  if (cause instanceof CatalogError || cause instanceof ClientDisconnected) throw cause
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    throw refusal('upstream_timeout', 'the upstream did not respond in time', { cause })
  if (code === 'CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    throw refusal('upstream_connect_timeout', 'upstream connect timeout', { cause })
  throw refusal('upstream_unreachable', 'the upstream could not be reached, or closed the connection', {
    cause,
  })
}
