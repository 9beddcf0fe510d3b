import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CatalogError, refusal, requestIdHeader } from '../../catalog-api/index.ts'
import { RequestError } from '../../http1/index.ts'
import { ownedBy, readPeerAddress } from '../../lib/index.ts'
import { ByteCount, limitSending, readNodeHead, requestWithoutBody } from '../../node-http/index.ts'
import { clientBounds } from '../bounds.ts'
import { ClientDisconnected } from '../downstream.ts'
import { toCatalogError } from '../error-response.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import { receive } from '../stages/receive.ts'
import { Trace } from '../trace.ts'
import { type Admission, type AdmitOptions, admitRequest, type PassThroughRoute } from './admit-request.ts'
import { keepRequestHeaders, keepResponseHeaders } from './forwarded.ts'

/** A request from its head to the end of its response. */
interface ProxiedRequest {
  readonly trace: Trace
  /** Aborted at that end, or with the error that ends it. */
  readonly end: AbortController
  admission?: Admission
}

/** The requests of the pass-through port, observed and refused like those of the catalog. */
export function createProxiedRequests(
  observer: RequestObserver,
  routes: readonly PassThroughRoute[],
  options: AdmitOptions,
) {
  const started = new WeakMap<IncomingMessage, ProxiedRequest>()

  /** Reports the request from here to the end of its response. */
  function start(raw: IncomingMessage, reply: FastifyReply) {
    const { socket } = raw
    const { raw: response } = reply
    const peer = readPeerAddress(socket)
    const request = requestWithoutBody(readNodeHead(raw), socket, peer, (error) => {
      socket.destroy()
      observer.connectionRejected('internal_error', peer, error.stack)
    })
    const proxied: ProxiedRequest = { trace: new Trace(request), end: new AbortController() }
    const { trace, end } = proxied
    void reply.header(requestIdHeader, trace.requestId)
    observer.requestStarted(trace, request)
    limitSending(response, request, clientBounds.sendTimeoutMs, observer.connectionRejected, () =>
      request.destroy(),
    )
    started.set(raw, proxied)
    const bytes = new ByteCount(socket)
    const onClose = (): void => {
      end.abort(new ClientDisconnected('the client closed the connection'))
      observer.requestEnded(trace, {
        status: response.statusCode,
        hasHead: response.headersSent,
        isComplete: response.writableFinished,
        bytesReceived: bytes.received,
        bytesSent: bytes.sent,
      })
      bytes.end()
    }
    response.once('close', ownedBy(request, onClose))
    return { request, proxied }
  }

  return {
    /** Rejects with CatalogError unless the request may be forwarded. */
    async admit({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> {
      const { request, proxied } = start(raw, reply)
      const { trace, end } = proxied
      const received = trace.enter('match', receive(request, options, trace.requestId))
      proxied.admission = await admitRequest(received, trace, end, routes, options)
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
      // The rest of an upload is not read.
      if (!raw.complete) void reply.header('connection', 'close')
      void reply
        .code(error.status)
        .headers({ 'content-type': 'application/json', [requestIdHeader]: requestId, ...error.headers })
        // Fastify adds a charset to text.
        .send(Buffer.from(JSON.stringify(error.toResponse(requestId))))
    },

    /** Redirects are not followed, nothing is sent again, and a client that leaves aborts its request. */
    async forward({ raw, body }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const { trace, end, admission } = started.get(raw) ?? {}
      if (admission === undefined) throw new Error('the request was not admitted')
      const { route, upstreamPath } = admission
      const { method = '', url = '' } = raw
      const response = await route.pool
        .request({
          method,
          path: upstreamPath + (/\?.*/.exec(url)?.[0] ?? ''),
          headers: { ...keepRequestHeaders(raw.headers), [requestIdHeader]: trace?.requestId },
          body: body instanceof Readable ? body : null,
          signal: end?.signal,
        })
        .catch(failUpstream)
      const { href } = new URL(upstreamPath, route.origin)
      void reply
        .code(response.statusCode)
        .headers(keepResponseHeaders(response.headers, route.paths, href))
        .send(response.body)
      // Events may come late.
      reply.raw.flushHeaders()
      return reply
    },
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
