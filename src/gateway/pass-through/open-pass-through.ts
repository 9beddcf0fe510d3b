import type { IncomingMessage } from 'node:http'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { respondToUnparsed } from '../../catalog-api/responses/unparsed-request.ts'
import type { PassThroughSettings } from '../../config/pass-through-settings.ts'
import type { ConnectionAddresses } from '../../lib/net/connection-addresses.ts'
import { closeWithError } from '../../http1/server/error-response.ts'
import { IncomingRequest } from '../../http1/server/incoming-request.ts'
import { RequestError } from '../../http1/server/request-error.ts'
import type { Interceptor } from '../../node-http/interceptor.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { readHttp1Head } from '../../node-http/request-head.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { toCatalogError } from '../error-response.ts'
import { gatewayHeaders } from '../gateway-headers.ts'
import type { RequestObserver } from '../observability/request-observer.ts'
import type { RequestHandler } from '../request-handler.ts'
import { receive } from '../stages/receive.ts'
import { Trace } from '../trace.ts'
import { admitRequest, type AdmitOptions } from './admit-request.ts'
import { openHttpProxy } from './http-proxy.ts'
import { openPassThroughRoute, type PassThroughTuning } from './pass-through-route.ts'
import { createRouteTable } from './route-table.ts'
import { toPassThroughError } from './upstream-failure.ts'
import { isWebSocketRequest, WebSocketTunnel } from './web-socket-tunnel.ts'

export interface PassThroughOptions {
  /** At least one. */
  readonly routes: readonly PassThroughSettings[]
  readonly tuning?: Partial<PassThroughTuning> | undefined
  /** URLs of the configured catalogs, which no route may reach. */
  readonly catalogUrls: readonly string[]
  readonly outbound: Outbound
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
  const { admission, handler, observer, catalogUrls, outbound, tuning } = options
  const routes = await Promise.all(
    options.routes.map((each) => openPassThroughRoute(each, catalogUrls, outbound, tuning)),
  )
  const proxy = await openHttpProxy(routes)
  const table = createRouteTable(routes)

  function handleUpgrade(raw: IncomingMessage, addresses: ConnectionAddresses, received: Buffer): void {
    const request = readUpgradeRequest(raw, addresses, observer)
    if (request === undefined) return
    const trace = new Trace(request)
    const tunnel = new WebSocketTunnel(raw)
    raw.socket.once('close', () => observer.requestEnded(trace, tunnel))
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
    const route = table.find(request.head)
    if (route === undefined || !isWebSocketRequest(raw)) {
      throw refusal('upgrade_not_allowed', 'the upgrade header is not supported for this path; send none')
    }
    const admitted = await admitRequest(
      { request, trace, upgrade: 'websocket', response: tunnel },
      route,
      admission,
    )
    try {
      await tunnel.run(admitted, received, trace)
    } catch (error) {
      throw toPassThroughError(error)
    }
  }

  return {
    matches: (head) => table.isReserved(head) || table.find(head) !== undefined,
    handle(request, response, raw) {
      handler.serve(request, response, async (body, trace) => {
        const route = table.find(request.head)
        if (route === undefined) {
          trace.enter('match', receive(request, admission, trace.requestId))
          throw refusal('unknown_route', 'unknown route: this host serves pass-through routes only')
        }
        const admitted = await admitRequest({ request, trace, response }, route, admission)
        await proxy.forward({ admitted, body, response, context: trace }, raw)
      })
    },
    handleUpgrade: routes.some(({ settings }) => settings.webSocket) ? handleUpgrade : undefined,
    close: () => proxy.close(),
  }
}

/** Returns undefined for a request that the parser of the gateway would refuse, and responds to it. */
function readUpgradeRequest(
  raw: IncomingMessage,
  addresses: ConnectionAddresses,
  { connectionRejected }: RequestObserver,
): IncomingRequest | undefined {
  const { socket } = raw
  try {
    return new IncomingRequest(readHttp1Head(raw), performance.now(), {
      socket,
      addresses,
      applyFlowControl: () => undefined,
      destroy: () => socket.destroy(),
    })
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    connectionRejected(error.reason, addresses, error.message)
    respondToUnparsed(socket, refusal('malformed_request', 'malformed HTTP/1.1 request'))
    return undefined
  }
}
