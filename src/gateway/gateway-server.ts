import type { LimitSettings, ListenSettings, TimeoutSettings } from '../config/index.ts'
import { createAddressMatcher } from '../lib/net/addresses.ts'
import { shutDownGracefully } from '../listener/graceful-shutdown.ts'
import { createListener, type Listener, type ListenerOptions } from '../listener/listener.ts'
import { maxHeadBytes, type ClientBounds } from './bounds.ts'
import type { RequestObserver } from './observability/request-observer.ts'
import { createRequestErrorResponse } from './error-response.ts'
import type { RequestHandler } from './request-handler.ts'

export interface GatewayServerOptions extends Pick<ListenerOptions, 'scheduler' | 'tls'> {
  readonly handler: RequestHandler
  readonly observer: RequestObserver
  readonly listen: ListenSettings
  readonly limits: Pick<LimitSettings, 'maxConnections' | 'maxConnectionsPerAddress'>
  readonly timeouts: TimeoutSettings
  readonly bounds: ClientBounds
  /** Whether something decides by the readiness of the gateway where to send requests. */
  readonly isReadinessAsked: () => boolean
  /** Aborts requests to upstreams. */
  readonly abortUpstream: () => void
}

/** The listener of the gateway. */
export interface GatewayServer {
  readonly setCertificates: Listener['setCertificates']
  /** Resolves with the URL of the catalog when requests are accepted. */
  listen(where: Pick<ListenSettings, 'host' | 'port' | 'basePath'>): Promise<string>
  /** Why no requests should be sent to this server: it does not listen yet, or is about to stop. */
  readonly findProblem: () => string | undefined
  /**
   * Stops accepting requests, drains active ones, and aborts those that exceed the grace period. Resolves when no
   * request is active downstream or upstream.
   */
  close(): Promise<void>
}

/** Creates the listener, not yet listening. Bytes that are not a request get a catalog error. */
export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { handler, observer, listen, limits, timeouts, bounds, tls, abortUpstream } = options
  const listener = createListener(
    {
      maxHeadBytes,
      maxConnections: limits.maxConnections,
      maxConnectionsPerAddress: limits.maxConnectionsPerAddress,
      timeouts: { ...timeouts, ...bounds },
      scheduler: options.scheduler,
      tls,
      proxies: {
        isTrusted: createAddressMatcher(listen.trustedProxies),
        usesProxyProtocol: listen.clientAddressFrom === 'proxy-protocol',
      },
    },
    {
      onRequest: handler.onRequest,
      onConnectionError: observer.connectionRejected,
      errorResponse: createRequestErrorResponse,
    },
  )
  let problem: string | undefined = 'the gateway is starting'
  return {
    setCertificates: (context) => listener.setCertificates(context),
    findProblem: () => problem,
    async listen({ host, port, basePath = '' }) {
      const bound = await listener.listen({ host, port })
      problem = undefined
      const scheme = tls === undefined ? 'http' : 'https'
      return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}${basePath}`
    },
    async close() {
      problem = 'the gateway is shutting down'
      await shutDownGracefully({
        server: listener,
        drainDelayMs: listener.isListening && options.isReadinessAsked() ? bounds.drainDelayMs : 0,
        graceMs: timeouts.drainTimeoutMs,
        isProcessing: handler.isProcessing,
        abort: abortUpstream,
        onGraceExpired: observer.requestsAborted,
      })
    },
  }
}
