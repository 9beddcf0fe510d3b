import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refusal, type CatalogError } from '../../catalog-api/catalog-error.ts'
import { requestIdHeader } from '../../catalog-api/headers.ts'
import { IncomingRequest } from '../../http1/server/incoming-request.ts'
import { RequestError } from '../../http1/server/request-error.ts'
import { readConnectionAddresses } from '../../lib/net/connection-addresses.ts'
import { readNodeHead } from '../../node-http/node-requests.ts'
import { clientBounds } from '../bounds.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { toCatalogError } from '../error-response.ts'
import { ownedBy } from '../../lib/async/owned-tasks.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import { Trace } from '../trace.ts'

/** A request from its head to the end of its response or WebSocket connection. */
export interface ProxiedRequest {
  readonly request: IncomingRequest
  readonly trace: Trace
  /** Aborted at that end. */
  readonly ended: AbortSignal
}

/** Observes and refuses the requests of the pass-through port like those of the catalog. */
export interface ProxiedRequests {
  /** Starts to observe a request. Throws CatalogError (400) for a head that the catalog's server would refuse. */
  start(request: FastifyRequest, reply: FastifyReply): ProxiedRequest
  /** Sends the response to a request that failed. */
  refuse(cause: unknown, request: FastifyRequest, reply: FastifyReply): void
}

/** `isDraining`: whether each response is the last one of its connection. */
export function createProxiedRequests(observer: RequestObserver, isDraining: () => boolean): ProxiedRequests {
  const started = new WeakMap<IncomingMessage, ProxiedRequest>()
  /** Bytes of a connection when its last response ended. */
  const bytesBefore = new WeakMap<Socket, { readonly read: number; readonly written: number }>()

  /** Reports the end of the response, or that of the connection if it serves WebSocket. */
  function observe(
    raw: IncomingMessage,
    reply: FastifyReply,
    request: IncomingRequest,
    trace: Trace,
  ): AbortSignal {
    const { socket } = raw
    const response = reply.raw
    const before = bytesBefore.get(socket)
    const end = new AbortController()
    const onEnd = ownedBy(request, () => {
      end.abort(new ClientDisconnected('the client closed the connection'))
      const { bytesRead: read, bytesWritten: written } = socket
      bytesBefore.set(socket, { read, written })
      const isTunnel = reply.sent && !response.headersSent
      observer.requestEnded(trace, {
        status: isTunnel ? 101 : response.statusCode,
        hasHead: isTunnel || response.headersSent,
        isComplete: isTunnel || response.writableFinished,
        bytesReceived: read - (before?.read ?? 0),
        bytesSent: written - (before?.written ?? 0),
      })
    })
    if (raw.headers.upgrade === undefined) response.once('close', onEnd)
    else socket.once('close', onEnd)
    return end.signal
  }

  return {
    start({ raw }, reply) {
      if (isDraining()) void reply.header('connection', 'close')
      const addresses = readConnectionAddresses(raw.socket)
      const request = readRequest(raw, addresses, observer)
      const trace = new Trace(request)
      void reply.header(requestIdHeader, trace.requestId)
      observer.requestStarted(trace, request)
      // A client that has closed its side may have left, too.
      const onTimeout = (): void => {
        if (raw.socket.writableLength === 0 && !raw.socket.readableEnded) return
        observer.connectionRejected('send_timeout', addresses)
        request.destroy()
      }
      reply.raw.setTimeout(clientBounds.sendTimeoutMs, ownedBy(request, onTimeout))
      const proxied = { request, trace, ended: observe(raw, reply, request, trace) }
      started.set(raw, proxied)
      return proxied
    },
    refuse(cause, { raw }, reply) {
      const proxied = started.get(raw)
      if (cause instanceof ClientDisconnected || proxied?.ended.aborted === true) {
        reply.hijack()
        return
      }
      const error = toPassThroughError(cause)
      const requestId = proxied?.trace.requestId ?? randomUUID()
      if (proxied !== undefined) observer.requestRefused(proxied.trace, error)
      // Those of the upstream.
      for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name)
      // Neither the rest of an upload nor another protocol is read.
      if (!raw.complete || raw.headers.upgrade !== undefined || isDraining())
        void reply.header('connection', 'close')
      void reply
        .code(error.status)
        .headers({ 'content-type': 'application/json', [requestIdHeader]: requestId, ...error.headers })
        // Fastify adds a charset to text.
        .send(Buffer.from(JSON.stringify(error.toResponse(requestId))))
    },
  }
}

function readRequest(
  raw: IncomingMessage,
  addresses: ReturnType<typeof readConnectionAddresses>,
  { connectionRejected }: RequestObserver,
): IncomingRequest {
  const { socket } = raw
  try {
    return new IncomingRequest(readNodeHead(raw), performance.now(), {
      socket,
      addresses,
      applyFlowControl: () => undefined,
      destroy: () => socket.destroy(),
      fail(error) {
        socket.destroy()
        connectionRejected('internal_error', addresses, error.stack)
      },
    })
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    connectionRejected(error.reason, addresses, error.message)
    throw refusal('malformed_request', 'malformed HTTP/1.1 request')
  }
}

/** The error that a client gets for any other: internal, or that of what it sent. */
function toPassThroughError(error: unknown): CatalogError {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 0
  return status >= 400 && status < 500
    ? refusal('invalid_request', 'the request cannot be forwarded as it was sent', { cause: error })
    : toCatalogError(error)
}
