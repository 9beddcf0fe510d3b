import { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { buildConnector } from 'undici'
import { WebSocket } from 'ws'
import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { webSocketMethod } from '../../config/pass-through-settings.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import {
  allowRequest,
  auditChange,
  checkUpload,
  holdCapacity,
  type AdmitOptions,
  type AllowedRequest,
} from './admit-request.ts'
import { createForwardedHeaders, createResponseHeaders } from './forwarded-headers.ts'
import { holdBack } from './hold-back.ts'
import { ownedBy } from '../../lib/async/owned-tasks.ts'
import type { PassThroughRoute } from './pass-through-route.ts'
import type { ProxiedRequest, ProxiedRequests } from './proxied-requests.ts'

const handshakeTimeoutMs = 10_000
/** Between the two frames that close a WebSocket connection. */
const closeTimeoutMs = 2_000
/** Of a message of WebSocket, which is in memory as a whole. */
const maxMessageBytes = 16 * 1024 * 1024

/** The client's side of a WebSocket connection. */
class ClientSocket extends WebSocket {
  /** Reasons of internal errors stay here: they may name hosts, and long ones would throw. */
  override close(code?: number, reason?: string | Buffer): void {
    super.close(code, code === 1011 ? undefined : reason)
  }
}

/** Serves a route by @fastify/http-proxy, behind hooks that authenticate, authorize, limit and audit. */
export async function serveRoute(
  app: FastifyInstance,
  route: PassThroughRoute,
  requests: ProxiedRequests,
  options: AdmitOptions,
): Promise<void> {
  const { settings, paths, origin } = route
  const admitted = new WeakMap<IncomingMessage, ProxiedRequest & { readonly allowed: AllowedRequest }>()
  const find = (raw: object) => {
    const found = raw instanceof IncomingMessage ? admitted.get(raw) : undefined
    if (found === undefined) throw new Error('the request was not admitted')
    return found
  }

  app.addHook('onRequest', async (request, reply) => {
    const started = requests.start(request, reply)
    const { trace, ended } = started
    const allowed = await allowRequest(started.request, trace, route, options)
    trace.enter('limit', allowed)
    assertConnected(ended)
    ended.addEventListener('abort', ownedBy(started.request, holdCapacity(allowed, route, options)))
    // The plugin reads it.
    request.raw.url = allowed.head.target
    admitted.set(request.raw, { ...started, allowed })
  })
  app.addHook('preParsing', async ({ raw }, _reply, body) => {
    const { allowed } = find(raw)
    return allowed.head.hasBody && body instanceof Readable
      ? Readable.from(checkUpload(body, allowed, route, options), { objectMode: false })
      : body
  })
  app.addHook('preHandler', async ({ raw }, reply) => {
    const { request, trace, ended, allowed } = find(raw)
    trace.enter('audit', allowed)
    await auditChange(allowed, route, options)
    assertConnected(ended)
    trace.enter('send', allowed)
    if (request.awaitsContinue) reply.raw.writeContinue()
  })

  // The types of the plugin know neither a class nor what rewrites headers.
  const webSocketServerOptions: object = {
    WebSocket: ClientSocket,
    maxPayload: maxMessageBytes,
    closeTimeout: closeTimeoutMs,
  }
  const webSocketClientOptions: object = {
    createConnection(_options: unknown, callback: buildConnector.Callback) {
      const { protocol, hostname, port } = origin
      route.connect({ protocol, hostname, port }, callback)
    },
    rewriteRequestHeaders: (_headers: unknown, { raw }: FastifyRequest) =>
      createForwardedHeaders(find(raw).allowed.head),
    handshakeTimeout: handshakeTimeoutMs,
    maxPayload: maxMessageBytes,
    closeTimeout: closeTimeoutMs,
    perMessageDeflate: false,
  }
  const isWebSocketAllowed = settings.methods.includes(webSocketMethod)
  await app.register(httpProxy, {
    prefix: paths.prefix,
    upstream: origin.origin + paths.upstreamPath,
    internalRewriteLocationHeader: false,
    disableRequestLogging: true,
    undici: route.client,
    handler: ({ raw }, reply, target, replyOptions) =>
      route.abortable.run(find(raw).ended, () => reply.from(target, replyOptions)),
    replyOptions: {
      // By default, GET is repeated ten times after a 503.
      retryDelay: () => null,
      rewriteRequestHeaders: ({ raw }) => createForwardedHeaders(find(raw).allowed.head),
      rewriteHeaders: (headers, request) =>
        request === undefined
          ? {}
          : createResponseHeaders(headers, paths, new URL(find(request.raw).allowed.upstreamPath, origin)),
      onError: (reply, { error }) => void reply.send(toUpstreamFailure(error)),
      onResponse(_request, reply, { stream }) {
        // The plugin goes on after an error.
        if (reply.sent) {
          stream.destroy()
          return
        }
        void reply.send(stream)
        if ('flushHeaders' in reply.raw) reply.raw.flushHeaders()
      },
    },
    ...(isWebSocketAllowed && {
      websocket: true,
      wsClientOptions: webSocketClientOptions,
      wsServerOptions: webSocketServerOptions,
      wsHooks: {
        // The plugin closes only a connection that is open.
        onConnect: (_, source, target) => source.readyState === WebSocket.OPEN || target.terminate(),
        onIncomingMessage: (_, source, target) => holdBack(source, target),
        onOutgoingMessage: (_, source, target) => holdBack(target, source),
      },
    }),
  })
}

function assertConnected(ended: AbortSignal): void {
  if (ended.aborted) throw new ClientDisconnected('the client closed the connection before it was admitted')
}

const messages = {
  upstream_connect_timeout: 'upstream connect timeout',
  upstream_timeout: 'the upstream did not respond in time',
  upstream_unreachable: 'the upstream could not be reached, or closed the connection',
} as const

/** Codes of undici and of Node.js, by the reason that the client gets. */
const reasonByCode: Readonly<Record<string, keyof typeof messages>> = {
  CONNECT_TIMEOUT: 'upstream_connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'upstream_timeout',
  ETIMEDOUT: 'upstream_connect_timeout',
}

/** The error that a client gets for a request that failed: that of its body, or 502 or 504. The plugin wraps causes. */
function toUpstreamFailure(error: unknown): CatalogError {
  let cause = error
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause
  if (cause instanceof CatalogError) return cause
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason = reasonByCode[code] ?? 'upstream_unreachable'
  return refusal(reason, messages[reason], { cause })
}
