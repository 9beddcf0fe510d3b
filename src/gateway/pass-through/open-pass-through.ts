import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { respondToUnparsed } from '../../catalog-api/responses/unparsed-request.ts'
import type { PassThroughSettings } from '../../config/pass-through-settings.ts'
import { closeWithError } from '../../http1/server/error-response.ts'
import { IncomingRequest } from '../../http1/server/incoming-request.ts'
import { RequestError } from '../../http1/server/request-error.ts'
import type { Interceptor } from '../../node-http/interceptor.ts'
import { readHttp1Head } from '../../node-http/request-head.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { toCatalogError } from '../error-response.ts'
import { gatewayHeaders } from '../gateway-headers.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import type { RequestHandler } from '../request-handler.ts'
import { Trace } from '../trace.ts'
import { admitRequest, type AdmitOptions } from './admit-request.ts'
import { openHttpProxy } from './http-proxy.ts'
import { openPassThroughRoute, type PassThroughRoute } from './pass-through-route.ts'
import { isBelowPrefix } from './pass-through-target.ts'
import { toDownstreamError } from './upstream-failure.ts'
import { isWebSocketRequest, WebSocketTunnel } from './web-socket-tunnel.ts'

export interface PassThroughOptions {
  /** At least one. */
  readonly routes: readonly PassThroughSettings[]
  /** URLs of the configured catalogs, which no route may reach. */
  readonly catalogUrls: readonly string[]
  readonly admission: AdmitOptions
  readonly handler: Pick<RequestHandler, 'serve'>
  readonly observer: RequestObserver
}

/** The open pass-through routes: take requests before the pipeline does. */
export interface PassThrough extends Interceptor {
  /** Aborts active requests. */
  close(): Promise<void>
}

/** Opens the routes. Throws if a file of the settings cannot be used. */
export async function openPassThrough(options: PassThroughOptions): Promise<PassThrough> {
  const { admission, handler, observer, catalogUrls } = options
  const routes = await Promise.all(options.routes.map((each) => openPassThroughRoute(each, catalogUrls)))
  const proxy = await openHttpProxy(routes)
  const findRoute = (target: string): PassThroughRoute | undefined =>
    routes.find(({ paths }) => isBelowPrefix(target, paths.prefix))

  function handleUpgrade(raw: IncomingMessage, _socket: Duplex, received: Buffer): void {
    const request = readUpgradeRequest(raw, observer)
    if (request === undefined) return
    const trace = new Trace(request)
    const tunnel = new WebSocketTunnel(raw)
    raw.socket.once('close', () => observer.requestEnded(trace, tunnel))
    // Failures end the pipelines of the tunnel, too.
    raw.socket.on('error', () => undefined)
    observer.requestStarted(trace, request)
    runTunnel(raw, request, tunnel, received, trace).catch((cause: unknown) => {
      if (cause instanceof ClientDisconnected || raw.socket.destroyed) return
      const error = toCatalogError(cause)
      observer.requestRefused(trace, error)
      tunnel.status = error.status
      closeWithError(raw.socket, {
        status: error.status,
        headers: [
          'content-type',
          'application/json',
          ...gatewayHeaders(trace),
          ...Object.entries(error.headers).flat(),
        ],
        body: JSON.stringify(error.toResponse(trace.requestId)),
      })
    })
  }

  async function runTunnel(
    raw: IncomingMessage,
    request: IncomingRequest,
    tunnel: WebSocketTunnel,
    received: Buffer,
    trace: Trace,
  ): Promise<void> {
    const route = findRoute(request.head.target)
    if (route === undefined || !isWebSocketRequest(raw)) {
      throw refusal('upgrade_not_allowed', 'the upgrade header is not supported for this path; send none')
    }
    const onClose = (release: () => void): void => void raw.socket.once('close', release)
    const admitted = await admitRequest({ request, trace, upgrade: 'websocket', onClose }, route, admission)
    try {
      await tunnel.run(admitted, route, received, trace)
    } catch (error) {
      throw toDownstreamError(error)
    }
  }

  return {
    matches: (target) => findRoute(target) !== undefined,
    handle(request, response, raw) {
      const route = findRoute(request.head.target)
      if (route === undefined) return
      handler.serve(request, response, async (body, trace) => {
        const onClose = (release: () => void): void => response.onClose.add(release)
        const admitted = await admitRequest({ request, trace, onClose }, route, admission)
        await proxy.forward({ ...admitted, route, body, response, context: trace }, raw)
      })
    },
    handleUpgrade: routes.some(({ settings }) => settings.webSocket) ? handleUpgrade : undefined,
    close: () => proxy.close(),
  }
}

/** Returns undefined for a request that the parser of the gateway would refuse, and responds to it. */
function readUpgradeRequest(
  raw: IncomingMessage,
  { connectionRejected }: RequestObserver,
): IncomingRequest | undefined {
  const { socket } = raw
  const remoteAddress = socket.remoteAddress ?? ''
  try {
    return new IncomingRequest(readHttp1Head(raw), performance.now(), {
      socket,
      remoteAddress,
      applyFlowControl: () => undefined,
      destroy: () => socket.destroy(),
    })
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    connectionRejected(error.reason, remoteAddress, error.message)
    respondToUnparsed(socket, refusal('malformed_request', 'malformed HTTP/1.1 request'))
    return undefined
  }
}
