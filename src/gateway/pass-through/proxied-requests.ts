import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CatalogError, refusal, requestIdHeader } from '../../catalog-api/index.ts'
import { type IncomingRequest, RequestError } from '../../http1/index.ts'
import { ownedBy, readPeerAddress } from '../../lib/index.ts'
import { limitSending, readNodeHead, requestWithoutBody } from '../../node-http/index.ts'
import { clientBounds } from '../bounds.ts'
import { ClientDisconnected } from '../downstream.ts'
import { toCatalogError } from '../error-response.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import { receive } from '../stages/receive.ts'
import { Trace } from '../trace.ts'
import {
  type AdmitOptions,
  admitRequest,
  type PassThroughRoute,
  type ProxiedRequest,
} from './admit-request.ts'
import { filterRequestHeaders, filterResponseHeaders } from './forwarded.ts'

/** Whether a request asks for a WebSocket connection (RFC 6455, section 4.1). Other upgrades are ignored (RFC 9110, 7.8). */
export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** The requests of the pass-through port, observed and refused like those of the catalog. */
export type ProxiedRequests = ReturnType<typeof createProxiedRequests>

export function createProxiedRequests(
  observer: RequestObserver,
  routes: readonly PassThroughRoute[],
  options: AdmitOptions,
) {
  const started = new WeakMap<IncomingMessage, ProxiedRequest>()

  function findAdmitted(route: PassThroughRoute, raw: IncomingMessage): ProxiedRequest {
    const proxied = started.get(raw)
    if (proxied?.route !== route) throw new Error('the request was not admitted')
    return proxied
  }

  /** The headers of an admitted request that its upstream gets. */
  function headersFor(route: PassThroughRoute, raw: IncomingMessage): IncomingHttpHeaders {
    const { trace } = findAdmitted(route, raw)
    return { ...filterRequestHeaders(raw.headers), [requestIdHeader]: trace.requestId }
  }

  return {
    headersFor,

    /** Rejects with CatalogError unless the request may be forwarded. */
    async admit({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { socket } = raw
      const peer = readPeerAddress(socket)
      const request = requestWithoutBody(readNodeHead(raw), socket, peer, (error) => {
        socket.destroy()
        observer.connectionRejected('internal_error', peer, error.stack)
      })
      const trace = new Trace(request)
      void reply.header(requestIdHeader, trace.requestId)
      observer.requestStarted(trace, request)
      limitSending(reply.raw, request, clientBounds.sendTimeoutMs, observer.connectionRejected, () =>
        request.destroy(),
      )
      const proxied: ProxiedRequest = { trace, isUpgrade: isWebSocket(raw), end: new AbortController() }
      started.set(raw, proxied)
      observe(reply, request, proxied)
      const received = trace.enter('match', receive(request, options, trace))
      await admitRequest(received, proxied, routes, options)
      // The plugin reads it.
      raw.url = received.head.target
    },

    /** Sends the response to a request that failed. */
    refuse: (cause: unknown, { raw }: FastifyRequest, reply: FastifyReply): void => {
      if (reply.raw.destroyed) {
        reply.hijack()
        return
      }
      const { trace } = started.get(raw) ?? {}
      const error = toPassThroughError(cause)
      const requestId = trace?.requestId ?? randomUUID()
      if (trace !== undefined) observer.requestRefused(trace, error)
      else observer.connectionRejected('malformed_request', readPeerAddress(raw.socket), error.message)
      // Neither the rest of an upload nor another protocol is read.
      if (!raw.complete || raw.headers.upgrade !== undefined) void reply.header('connection', 'close')
      void reply
        .code(error.status)
        .headers({ 'content-type': 'application/json', [requestIdHeader]: requestId, ...error.headers })
        // Fastify adds a charset to text.
        .send(Buffer.from(JSON.stringify(error.toResponse(requestId))))
    },

    /** Redirects are not followed, nothing is sent again, and a client that leaves aborts its request. */
    async forward(
      route: PassThroughRoute,
      { raw, body }: FastifyRequest,
      reply: FastifyReply,
    ): Promise<FastifyReply> {
      const { isUpgrade, end, upstreamPath = '' } = findAdmitted(route, raw)
      // One without `connection: upgrade`.
      if (isUpgrade) throw refusal('upgrade_not_allowed', 'malformed WebSocket handshake')
      const { method = '', url = '' } = raw
      const response = await route.pool
        .request({
          method,
          path: upstreamPath + (/\?.*/.exec(url)?.[0] ?? ''),
          headers: headersFor(route, raw),
          body: body instanceof Readable ? body : null,
          signal: end.signal,
        })
        .catch(failUpstream)
      const { href } = new URL(upstreamPath, route.origin)
      void reply
        .code(response.statusCode)
        .headers(filterResponseHeaders(response.headers, route.paths, href))
        .send(response.body)
      // Events may come late.
      reply.raw.flushHeaders()
      return reply
    },
  }

  /** Reports the end of the response, or that of the connection if it serves WebSocket. */
  function observe(
    reply: FastifyReply,
    request: IncomingRequest,
    { trace, end, isUpgrade }: ProxiedRequest,
  ): void {
    const { socket } = request
    const { raw: response } = reply
    const onEnd = ownedBy(request, () => {
      end.abort(new ClientDisconnected('the client closed the connection'))
      const isTunnel = isUpgrade && reply.sent && !response.headersSent
      observer.requestEnded(trace, {
        status: isTunnel ? 101 : response.statusCode,
        hasHead: isTunnel || response.headersSent,
        isComplete: isTunnel || response.writableFinished,
        request,
      })
      request.onResponseEnd()
    })
    if (!isUpgrade) {
      response.once('close', onEnd)
      return
    }
    socket.once('close', onEnd)
    end.signal.addEventListener('abort', () => socket.destroy())
  }
}

/** Converts an error to one for the client: 4xx if the request caused it, otherwise internal. */
function toPassThroughError(error: unknown): CatalogError {
  if (error instanceof RequestError) return refusal('malformed_request', 'malformed HTTP/1.1 request')
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 0
  return status >= 400 && status < 500
    ? refusal('invalid_request', 'the request cannot be forwarded as it was sent', { cause: error })
    : toCatalogError(error)
}

/** Throws the error for the client of a failed request: the one that ended it, or 502 or 504. */
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
