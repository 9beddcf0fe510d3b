import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Server as TlsServer, type SecureContextOptions } from 'node:tls'
import fastify from 'fastify'
import { refusal } from '../../catalog-api/catalog-error.ts'
import type { GatewaySettings } from '../../config/index.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import type { ListenerOptions } from '../../listener/listener.ts'
import { clientBounds, maxHeadBytes, passThroughBounds } from '../bounds.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import type { AdmitOptions } from './admit-request.ts'
import { openPassThroughRoute } from './pass-through-route.ts'
import { ProxiedRequests } from './proxied-requests.ts'

/** One caller can hold only a part of the capacity with bodies that never end. */
const requestTimeout = 3_600_000
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
  const catalogUrls = upstreams.map(({ url }) => url)
  const routes = await Promise.all(
    passThrough.routes.map((each) => openPassThroughRoute(each, catalogUrls, outbound)),
  )
  const options = {
    maxHeaderSize: maxHeadBytes,
    // The first stage refuses it, in the format of the interface.
    requireHostHeader: false,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveProbeMs,
    headersTimeout: clientBounds.headersTimeoutMs,
    keepAliveTimeout: timeouts.keepAliveTimeoutMs,
    requestTimeout,
    // Of Node.js 24. Earlier ones wait for another protocol than WebSocket, too, which is refused.
    shouldUpgradeCallback: (request: IncomingMessage): boolean =>
      !ignoreUpgrade(request) && server.listenerCount('upgrade') > 0,
  }
  const server =
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
  server.maxConnections = passThroughBounds.maxConnections
  // The bytes of a head are bounded: of more fields than Node's limit, the last ones would be missing.
  server.maxHeadersCount = 0
  // A client that has closed its side gets its response. Node has no option for it.
  Object.assign(server, { httpAllowHalfOpen: true })
  const sockets = new Set<Socket>()
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket)
    // Node removes its own listener before it emits `upgrade`.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  })
  let currentContext = tls?.context
  let isDraining = false

  const requests = new ProxiedRequests(observer, routes, admission)
  const app = fastify({
    serverFactory: (handler) => server.on('request', handler),
    exposeHeadRoutes: false,
    frameworkErrors: requests.refuse,
  })
  app.setErrorHandler(requests.refuse)
  app.setNotFoundHandler(() => {
    throw refusal('unknown_route', 'unknown route')
  })
  app.addHook('onRequest', (request, reply) => {
    if (isDraining) void reply.header('connection', 'close')
    return requests.admit(request, reply)
  })
  app.addHook('preParsing', async ({ raw }, _reply, body) => requests.checkBody(raw, body))
  for (const route of routes) await app.register((scope) => requests.serve(scope, route))
  await app.ready()

  return {
    setCertificates(context) {
      if (server instanceof TlsServer) server.setSecureContext(context)
      if (context.ca === currentContext?.ca && context.crl === currentContext?.crl) return
      currentContext = context
      for (const socket of sockets) socket.destroy()
    },
    async listen() {
      const { host } = listen
      server.listen({ host, port: passThrough.port })
      await once(server, 'listening')
      const address = server.on('error', () => undefined).address()
      const port = typeof address === 'object' && address !== null ? address.port : passThrough.port
      return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
    },
    async close(delayMs) {
      isDraining = true
      if (server.listening) await pause(delayMs)
      // Connections whose response was under way.
      const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs)
      const timer = setTimeout(() => {
        observer.requestsAborted()
        for (const socket of sockets) socket.destroy()
      }, timeouts.drainTimeoutMs)
      // The plugin closes its WebSocket connections first.
      await new Promise((resolve) => server.close(resolve))
      clearTimeout(timer)
      clearInterval(idle)
      await app.close()
      await Promise.all(routes.map(({ pool }) => pool.destroy()))
    },
  }
}

/** An upgrade to anything but WebSocket is as if it was not sent (RFC 9110, section 7.8). Returns whether it is. */
function ignoreUpgrade({ headers, rawHeaders }: IncomingMessage): boolean {
  if (headers.upgrade?.toLowerCase() === 'websocket') return false
  delete headers.upgrade
  for (let index = rawHeaders.length - 2; index >= 0; index -= 2) {
    if (rawHeaders[index]?.toLowerCase() === 'upgrade') rawHeaders.splice(index, 2)
  }
  return true
}
