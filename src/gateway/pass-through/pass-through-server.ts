import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Server as TlsServer, type SecureContextOptions, type TLSSocket } from 'node:tls'
import fastify from 'fastify'
import { refusal } from '../../catalog-api/catalog-error.ts'
import type { GatewaySettings } from '../../config/gateway-settings.ts'
import { closeWithError } from '../../http1/server/error-response.ts'
import { RequestError } from '../../http1/server/request-error.ts'
import { isDisconnect } from '../../lib/net/is-disconnect.ts'
import { readConnectionAddresses } from '../../lib/net/connection-addresses.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import type { ListenerOptions } from '../../listener/listener.ts'
import { clientBounds, maxHeadBytes, passThroughBounds } from '../bounds.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import { createRequestErrorResponse } from '../request-error-response.ts'
import type { AdmitOptions } from './admit-request.ts'
import { openPassThroughRoute } from './pass-through-route.ts'
import { createProxiedRequests } from './proxied-requests.ts'
import { serveRoute } from './serve-route.ts'

/** One caller can hold only a part of the capacity with bodies that never end. */
const requestTimeoutMs = 3_600_000
const keepAliveProbeMs = 60_000
const idleCheckMs = 50

export interface PassThroughOptions {
  readonly settings: GatewaySettings
  readonly passThrough: NonNullable<GatewaySettings['passThrough']>
  readonly admission: AdmitOptions
  readonly observer: RequestObserver
  readonly outbound: Outbound
  /** That of the catalog's listener. */
  readonly tls: ListenerOptions['tls']
}

/** The server of the pass-through routes. */
export interface PassThroughServer {
  /** If authorities or revocation list change, all connections are closed: TLS verifies only new ones. */
  setCertificates(context: SecureContextOptions): void
  /** Resolves with the URL when requests are accepted. */
  listen(): Promise<string>
  /** After the delay, stops accepting requests, drains active ones, and aborts those that exceed the grace period. */
  close(delayMs: number): Promise<void>
}

/** Opens the routes on a server that does not listen yet. Rejects if a file of the settings cannot be used. */
export async function openPassThrough({
  settings: { listen, timeouts, upstreams },
  passThrough,
  admission,
  observer,
  outbound,
  tls,
}: PassThroughOptions): Promise<PassThroughServer> {
  let isDraining = false
  const requests = createProxiedRequests(observer, () => isDraining)
  const sockets = new Set<Socket>()
  const catalogUrls = upstreams.map(({ url }) => url)
  const routes = await Promise.all(
    passThrough.routes.map((each) => openPassThroughRoute(each, catalogUrls, outbound)),
  )
  let currentContext = tls?.context
  const options = {
    maxHeaderSize: maxHeadBytes,
    // The first stage refuses it, in the format of the interface.
    requireHostHeader: false,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
    allowHalfOpen: true,
  }
  const server = createListener((request, response) => app.routing(request, response))
  // The plugin replaces it by one that first closes WebSocket connections.
  const stopAccepting = server.close.bind(server)
  const app = fastify({
    serverFactory: (handler) => server.on('request', handler),
    exposeHeadRoutes: false,
    clientErrorHandler: (error, socket) => rejectBytes(error, socket),
    frameworkErrors: (error, request, reply) => requests.refuse(error, request, reply),
  })
  app.setErrorHandler((error, request, reply) => requests.refuse(error, request, reply))
  app.setNotFoundHandler((request, reply) => {
    requests.start(request, reply)
    throw refusal('unknown_route', 'unknown route')
  })
  for (const route of routes) await app.register((scope) => serveRoute(scope, route, requests, admission))
  await app.ready()

  function createListener(onRequest: RequestListener): Server {
    const created =
      tls === undefined
        ? createServer(options)
        : createTlsServer({
            ...options,
            ...tls.context,
            requestCert: tls.clientCertificate !== 'none',
            // Node would accept an optional certificate that is invalid: authentication refuses it.
            rejectUnauthorized: tls.clientCertificate === 'required',
            handshakeTimeout: clientBounds.headersTimeoutMs,
          })
    // A client that has closed its side gets its response. Node has no option for it.
    Object.assign(created, { httpAllowHalfOpen: true })
    created.maxConnections = passThroughBounds.maxConnections
    created.maxHeadersCount = 0
    created.headersTimeout = clientBounds.headersTimeoutMs
    created.keepAliveTimeout = timeouts.keepAliveTimeoutMs
    created.requestTimeout = requestTimeoutMs
    return (
      created
        .on('connection', (socket: Socket) => {
          sockets.add(socket)
          // Node removes its own listener before it emits `upgrade`.
          socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
        })
        .on('secureConnection', (socket: TLSSocket) => void socket.on('error', () => undefined))
        .on('drop', () => created.closeIdleConnections())
        // Node would respond itself, before anything is decided.
        .on('checkContinue', onRequest)
        .on('checkExpectation', onRequest)
    )
  }

  /** Responds to bytes that are no request. */
  function rejectBytes(error: NodeJS.ErrnoException, socket: Socket): void {
    if (isDisconnect(error) || !socket.writable) {
      socket.destroy()
      return
    }
    const reason = reasonByCode[error.code ?? ''] ?? 'malformed_request'
    const rejected = new RequestError(reason, error.message)
    observer.connectionRejected(reason, readConnectionAddresses(socket), error.message)
    const response = createRequestErrorResponse(rejected)
    if (response !== undefined) closeWithError(socket, response)
  }

  return {
    setCertificates(context) {
      if (server instanceof TlsServer) server.setSecureContext(context)
      if (context.ca === currentContext?.ca && context.crl === currentContext?.crl) return
      currentContext = context
      for (const socket of sockets) socket.destroy()
    },
    listen: () =>
      new Promise((resolve, reject) => {
        const { host } = listen
        server.once('error', reject).listen({ host, port: passThrough.port }, () => {
          server.off('error', reject).on('error', () => undefined)
          const address = server.address()
          const port = typeof address === 'object' && address !== null ? address.port : passThrough.port
          resolve(
            `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
          )
        })
      }),
    async close(delayMs) {
      isDraining = true
      if (server.listening) await pause(delayMs)
      const closed = new Promise((resolve) => stopAccepting(resolve))
      server.close()
      // Connections whose response was under way.
      const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs)
      const timer = setTimeout(() => {
        observer.requestsAborted()
        for (const socket of sockets) socket.destroy()
      }, timeouts.drainTimeoutMs)
      await closed
      clearTimeout(timer)
      clearInterval(idle)
      await Promise.all(routes.map((route) => route.close()))
      await app.close()
    },
  }
}

const reasonByCode: Readonly<Record<string, 'headers_too_large' | 'request_timeout'>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}
