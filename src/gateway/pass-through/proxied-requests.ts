import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { requestIdHeader } from '../../catalog-api/headers.ts'
import { webSocketMethod } from '../../config/index.ts'
import { IncomingRequest } from '../../http1/server/incoming-request.ts'
import { RequestError } from '../../http1/server/request-error.ts'
import { ownedBy } from '../../lib/async/owned-tasks.ts'
import { readConnectionAddresses } from '../../lib/net/addresses.ts'
import { limitSending, readNodeHead } from '../../node-http/node-requests.ts'
import { ByteCount } from '../../node-http/node-response.ts'
import { clientBounds } from '../bounds.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { toCatalogError } from '../error-response.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import { Trace } from '../trace.ts'
import { admitRequest, checkUpload, type AdmitOptions, type AdmittedRequest } from './admit-request.ts'
import { keepRequestHeaders, keepResponseHeaders } from './forwarded-headers.ts'
import type { PassThroughRoute } from './pass-through-route.ts'
import { createTunnelOptions } from './web-socket-tunnel.ts'

/** A request from its head to the end of its response or WebSocket connection. */
interface ProxiedRequest {
  readonly trace: Trace
  /** Aborted at that end. */
  readonly ended: AbortSignal
  /** Undefined before. */
  admitted: AdmittedRequest | undefined
}

/** The requests of the pass-through port, observed and refused like those of the catalog, forwarded by @fastify/http-proxy. */
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
    const started: ProxiedRequest = {
      trace,
      ended: this.#observe(reply, request, trace),
      admitted: undefined,
    }
    this.#started.set(raw, started)
    started.admitted = await admitRequest(request, trace, started.ended, this.#routes, this.#options)
    // The plugin reads it.
    raw.url = started.admitted.head.target
  }

  /** The body of an admitted request, which ends only if its caller is still allowed. */
  checkBody<Body>(raw: object, body: Body): Body | Readable {
    const { admitted } = this.#started.get(raw) ?? {}
    return admitted?.head.hasBody === true && body instanceof Readable
      ? Readable.from(checkUpload(body, admitted, this.#options), { objectMode: false })
      : body
  }

  /** Sends the response to a request that failed. */
  readonly refuse = (cause: unknown, { raw }: FastifyRequest, reply: FastifyReply): void => {
    const started = this.#started.get(raw)
    if (started?.ended.aborted === true) {
      reply.hijack()
      return
    }
    const error = toPassThroughError(cause)
    const requestId = started?.trace.requestId ?? randomUUID()
    const addresses = readConnectionAddresses(raw.socket)
    if (started) this.#observer.requestRefused(started.trace, error)
    else this.#observer.connectionRejected('malformed_request', addresses, error.message)
    // Neither the rest of an upload nor another protocol is read.
    if (!raw.complete || raw.headers.upgrade !== undefined) void reply.header('connection', 'close')
    void reply
      .code(error.status)
      .headers({ 'content-type': 'application/json', [requestIdHeader]: requestId, ...error.headers })
      // Fastify adds a charset to text.
      .send(Buffer.from(JSON.stringify(error.toResponse(requestId))))
  }

  /** Serves a route by @fastify/http-proxy: its paths, its bodies and its WebSocket connections. */
  async serve(app: FastifyInstance, route: PassThroughRoute): Promise<void> {
    const { settings, paths, origin, pool } = route
    const tunnels = createTunnelOptions(route, (_headers, { raw }) => this.#find(route, raw).headers)
    await app.register(httpProxy, {
      prefix: paths.prefix,
      upstream: origin.origin + paths.upstreamPath,
      undici: pool,
      handler: (request, reply) => this.#forward(route, request, reply),
      ...(settings.methods.includes(webSocketMethod) && tunnels),
    })
  }

  /** The plugin cannot abort a request whose client has left. Redirects are not followed, and nothing is sent again. */
  async #forward(
    route: PassThroughRoute,
    { raw, body: sent }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { pool, origin, paths } = route
    const { admitted, ended, headers } = this.#find(route, raw)
    const { method, target } = admitted.head
    const path = admitted.upstreamPath + (/\?.*/.exec(target)?.[0] ?? '')
    const body = sent instanceof Readable ? sent : null
    const response = await pool.request({ method, path, headers, body, signal: ended }).catch(failUpstream)
    const { href } = new URL(admitted.upstreamPath, origin)
    void reply
      .code(response.statusCode)
      .headers(keepResponseHeaders(response.headers, paths, href))
      .send(response.body)
    // Events may come late.
    reply.raw.flushHeaders()
    return reply
  }

  /** Finds an admitted request of the route, and the headers that its upstream gets. */
  #find(route: PassThroughRoute, raw: IncomingMessage) {
    const { admitted, ended } = this.#started.get(raw) ?? {}
    if (admitted?.route !== route || ended === undefined) throw new Error('the request was not admitted')
    const headers = { ...keepRequestHeaders(raw.headers), [requestIdHeader]: admitted.head.requestId }
    return { admitted, ended, headers }
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
  #observe(reply: FastifyReply, request: IncomingRequest, trace: Trace): AbortSignal {
    const { socket } = request
    const response = reply.raw
    const isUpgrade = request.singleHeader('upgrade') !== undefined
    const bytes = new ByteCount(socket)
    const end = new AbortController()
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
    if (isUpgrade) socket.once('close', onEnd)
    else response.once('close', onEnd)
    return end.signal
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

/** Throws what a client gets for a request that failed: the error of its body, or 502 or 504. */
function failUpstream(cause: unknown): never {
  if (cause instanceof CatalogError) throw cause
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    throw refusal('upstream_timeout', 'the upstream did not respond in time', { cause })
  if (code === 'CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    throw refusal('upstream_connect_timeout', 'upstream connect timeout', { cause })
  throw refusal('upstream_unreachable', 'the upstream could not be reached, or closed the connection', {
    cause,
  })
}
