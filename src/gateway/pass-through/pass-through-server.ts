import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Server as TlsServer, type SecureContextOptions } from 'node:tls'
import httpProxy from '@fastify/http-proxy'
import fastify, { type FastifyInstance } from 'fastify'
import { refusal } from '../../catalog-api/index.ts'
import { formatAuthority, listenOn } from '../../lib/index.ts'
import { type GatewaySettings, webSocketMethod } from '../../config/index.ts'
import type { Outbound } from '../../outbound/index.ts'
import type { ListenerOptions } from '../../listener/index.ts'
import { clientBounds, maxHeadBytes, passThroughBounds } from '../bounds.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import { openRoute, type AdmitOptions, type PassThroughRoute } from './admit-request.ts'
import { createProxiedRequests, isWebSocket, type ProxiedRequests } from './proxied-requests.ts'
import { createTunnelOptions } from './web-socket-tunnel.ts'

/** One caller can hold only a part of the capacity with bodies that never end. */
const requestTimeout = 3_600_000

/** The server of the pass-through routes. */
export type PassThroughServer = Awaited<ReturnType<typeof openPassThrough>>

/** Opens the routes on a server that does not listen yet. Rejects if a file of the settings cannot be used. */
export async function openPassThrough(
  { listen, timeouts, upstreams }: GatewaySettings,
  passThrough: NonNullable<GatewaySettings['passThrough']>,
  { pipeline, observer }: { readonly pipeline: AdmitOptions; readonly observer: RequestObserver },
  outbound: Outbound,
  tls: ListenerOptions['tls'],
) {
  const catalogs = upstreams.map(({ url }) => new URL(url))
  const routes = await Promise.all(passThrough.routes.map((each) => openRoute(each, catalogs, outbound)))
  const requests = createProxiedRequests(observer, routes, pipeline)
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
    /** If authorities or revocation list change, all connections are closed: TLS verifies only new ones. */
    setCertificates(context: SecureContextOptions): void {
      if (server instanceof TlsServer) server.setSecureContext(context)
      if (context.ca === currentContext?.ca && context.crl === currentContext?.crl) return
      currentContext = context
      for (const socket of sockets) socket.destroy()
    },
    /** Resolves with the URL when requests are accepted. */
    async listen(): Promise<string> {
      const { host } = listen
      const port = await listenOn(server, { host, port: passThrough.port })
      server.on('error', () => undefined)
      return `${tls === undefined ? 'http' : 'https'}://${formatAuthority(host, port)}`
    },
    /** After the delay, stops accepting requests, drains active ones, and aborts those that exceed the grace period. */
    async close(delayMs: number): Promise<void> {
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

/** Forwards the requests of a route by @fastify/http-proxy: its paths, its bodies and its WebSocket connections. */
async function serveRoute(
  app: FastifyInstance,
  route: PassThroughRoute,
  requests: ProxiedRequests,
): Promise<void> {
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
