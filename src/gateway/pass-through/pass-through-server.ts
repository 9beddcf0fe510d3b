import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Server as TlsServer, type SecureContextOptions } from 'node:tls'
import httpProxy from '@fastify/http-proxy'
import fastify, { type FastifyInstance } from 'fastify'
import { Pool } from 'undici'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { type GatewaySettings, type PassThroughRouteSettings, webSocketMethod } from '../../config/index.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { createUndiciConnector } from '../../lib/outbound/undici-connector.ts'
import { FairCapacity } from '../../limits/overload/fair-capacity.ts'
import { createBuckets } from '../../limits/token-buckets.ts'
import type { ListenerOptions } from '../../listener/listener.ts'
import { clientBounds, maxHeadBytes, passThroughBounds, upstreamBounds } from '../bounds.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import type { AdmitOptions } from './admit-request.ts'
import { createPassThroughPaths } from './forwarded.ts'
import { isWebSocket, ProxiedRequests } from './proxied-requests.ts'
import { createTunnelOptions } from './web-socket-tunnel.ts'

/** One caller can hold only a part of the capacity with bodies that never end. */
const requestTimeout = 3_600_000

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
  const catalogs = upstreams.map(({ url }) => new URL(url))
  const routes = await Promise.all(passThrough.routes.map((each) => openRoute(each, catalogs, outbound)))
  const requests = new ProxiedRequests(observer, routes, admission)
  const server = createNodeServer(timeouts.keepAliveTimeoutMs, tls)
  const sockets = new Set<Socket>()
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket)
    // Node removes its own listener before it emits `upgrade`.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  })
  let currentContext = tls?.context
  let isDraining = false

  const app = fastify({
    serverFactory: (handler) => server.on('request', handler),
    exposeHeadRoutes: false,
    frameworkErrors: requests.refuse,
  })
  app.setErrorHandler(requests.refuse)
  app.setNotFoundHandler(() => {
    throw refusal('unknown_route', 'unknown route')
  })
  app.addHook('onRequest', (request, reply) => requests.admit(request, reply))
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isDraining) void reply.header('connection', 'close')
    done()
  })
  for (const route of routes) await serveRoute(app, route, requests)
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
      const timer = setTimeout(() => {
        observer.requestsAborted()
        for (const socket of sockets) socket.destroy()
      }, timeouts.drainTimeoutMs)
      // The plugin closes its WebSocket connections first.
      await new Promise((resolve) => server.close(resolve))
      clearTimeout(timer)
      await app.close()
    },
  }
}

function createNodeServer(keepAliveTimeout: number, tls: ListenerOptions['tls']) {
  const options = {
    maxHeaderSize: maxHeadBytes,
    // The first stage refuses it, in the format of the interface.
    requireHostHeader: false,
    keepAlive: true,
    headersTimeout: clientBounds.headersTimeoutMs,
    keepAliveTimeout,
    requestTimeout,
    // Of Node.js 24. Before, the plugin refuses other upgrades.
    shouldUpgradeCallback: (request: IncomingMessage): boolean =>
      isWebSocket(request) && server.listenerCount('upgrade') > 0,
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
  // A client that has closed its side gets its response. Node has no option for it.
  return Object.assign(server, { httpAllowHalfOpen: true })
}

type OpenRoute = Awaited<ReturnType<typeof openRoute>>

/** Opens the upstream and the limits of a route. */
async function openRoute(settings: PassThroughRouteSettings, catalogs: readonly URL[], outbound: Outbound) {
  const { prefix } = settings
  const { maxRequests, changesPerSecond, responseHeadersTimeoutMs } = passThroughBounds
  const upstream = new URL(settings.upstream)
  const opener = await outbound.openClient(`passThrough.${prefix}`, {})
  const connect = createUndiciConnector(opener, upstreamBounds.connectTimeoutMs)
  return {
    settings,
    paths: createPassThroughPaths(prefix, upstream, catalogs),
    capacity: new FairCapacity(maxRequests, 1),
    changes: createBuckets({ perSecond: changesPerSecond, burst: 10 * changesPerSecond }),
    changesOfStrangers: createBuckets({ perSecond: 10 * changesPerSecond, burst: 100 * changesPerSecond }),
    origin: new URL(upstream.origin),
    connect,
    // A stream of events may be silent for long.
    pool: new Pool(upstream.origin, { connect, headersTimeout: responseHeadersTimeoutMs, bodyTimeout: 0 }),
  }
}

/** Forwards the requests of a route by @fastify/http-proxy: its paths, its bodies and its WebSocket connections. */
async function serveRoute(app: FastifyInstance, route: OpenRoute, requests: ProxiedRequests): Promise<void> {
  const { settings, paths, origin, connect, pool } = route
  const tunnels = createTunnelOptions(origin, connect, (_, { raw }) => requests.headersFor(route, raw))
  app.addHook('onClose', () => pool.destroy())
  await app.register(httpProxy, {
    prefix: paths.prefix,
    upstream: origin.origin + paths.upstreamPath,
    undici: pool,
    handler: (request, reply) => requests.forward(route, request, reply),
    ...(settings.methods.includes(webSocketMethod) && tunnels),
  })
}
