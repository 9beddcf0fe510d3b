import type { ListenSettings } from '../config/listen-settings.ts'
import { shutDownGracefully } from '../http1/server/graceful-shutdown.ts'
import type { Http1Server } from '../http1/server/http1-server.ts'
import { createListener, type ListenerOptions } from './listener.ts'
import type { RequestObserver } from './observability/request-observer.ts'
import type { RequestHandler } from './request-handler.ts'

export interface GatewayServerOptions {
  readonly handler: RequestHandler
  readonly listener: ListenerOptions
  readonly observer: RequestObserver
  /** Aborts requests to upstreams. */
  readonly abortUpstream: () => void
}

/** The servers of the gateway behind its one listener. */
export interface GatewayServer {
  readonly setCertificates: Http1Server['setCertificates']
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

export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { handler, observer, abortUpstream } = options
  const { timeouts } = options.listener
  const listener = createListener(options.listener, {
    ...handler,
    onConnectionError: observer.connectionRejected,
  })
  let problem: string | undefined = 'the gateway is starting'
  return {
    setCertificates: (context) => listener.setCertificates(context),
    findProblem: () => problem,
    async listen({ host, port, basePath = '' }) {
      const bound = await listener.listen({ host, port })
      problem = undefined
      const scheme = options.listener.tls === undefined ? 'http' : 'https'
      return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}${basePath}`
    },
    async close() {
      problem = 'the gateway is shutting down'
      await shutDownGracefully({
        server: listener,
        drainDelayMs: listener.isListening ? timeouts.drainDelayMs : 0,
        graceMs: timeouts.drainTimeoutMs,
        isProcessing: handler.isProcessing,
        abort: abortUpstream,
        onGraceExpired: observer.requestsAborted,
      })
    },
  }
}
