import { refusal } from '../catalog-api/catalog-error.ts'
import { respondToUnparsed } from '../catalog-api/responses/unparsed-request.ts'
import { drainRequestBody } from '../http1/server/drain-request-body.ts'
import type { OutgoingResponse } from '../http1/server/outgoing-response.ts'
import { RequestBody, type RequestBodyOptions } from '../http1/server/request-body.ts'
import { BodyTimeout } from './body/body-timeout.ts'
import { noBody } from './downstream.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import { shutDownGracefully } from '../http1/server/graceful-shutdown.ts'
import type { LimitSettings, ListenSettings } from '../config/listen-settings.ts'
import { ClientDisconnected } from './client-disconnected.ts'
import type { Http1Server } from '../http1/server/http1-server.ts'
import { createListener, type ListenerOptions } from './http1-listener.ts'
import type { RequestObserver } from './observability/request-observer.ts'
import { handle, type Pipeline } from './pipeline.ts'
import { toCatalogError, sendErrorResponse } from './error-response.ts'
import { Trace } from './trace.ts'

export interface Http1GatewayServerOptions {
  readonly pipeline: Pipeline
  readonly listener: ListenerOptions
  readonly limits: Pick<LimitSettings, 'minBodyBytesPerSecond'>
  readonly observer: RequestObserver
}

export interface Http1GatewayServer {
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

/** Creates the HTTP/1.1 server of the gateway, which passes requests to the pipeline. */
export function createHttp1GatewayServer(options: Http1GatewayServerOptions): Http1GatewayServer {
  const { pipeline, observer, limits } = options
  const { timeouts } = options.listener
  const bodyOptions: RequestBodyOptions = {
    timeoutMs: timeouts.bodyTimeoutMs,
    minBytesPerSecond: limits.minBodyBytesPerSecond,
    error: (reason) =>
      reason === 'timeout'
        ? new BodyTimeout()
        : new ClientDisconnected('the client aborted the request body'),
  }
  let inPipeline = 0
  const listener = createListener(options.listener, {
    onRequest: handleRequest,
    onConnectionError: observer.connectionRejected,
  })

  function handleRequest(request: IncomingRequest, response: OutgoingResponse): void {
    if (request.head.method === 'CONNECT') {
      refuseConnect(request)
      return
    }
    const trace = new Trace(request)
    response.onClose.add(() => observer.requestEnded(trace, response))
    observer.requestStarted(trace, request)
    void runPipeline(request, response, trace)
  }

  async function runPipeline(
    request: IncomingRequest,
    response: OutgoingResponse,
    trace: Trace,
  ): Promise<void> {
    const body = request.isComplete ? noBody : new RequestBody(request, response, bodyOptions)
    inPipeline += 1
    try {
      await handle(request, body, response, pipeline, trace)
      body.release()
      if (response.keepAlive) drainRequestBody(request)
    } catch (error) {
      body.release()
      refuse(request, response, trace, error)
    } finally {
      inPipeline -= 1
    }
  }

  function refuse(request: IncomingRequest, response: OutgoingResponse, trace: Trace, cause: unknown): void {
    if (cause instanceof ClientDisconnected) return
    const error = toCatalogError(cause)
    observer.requestRefused(trace, error)
    sendErrorResponse(response, error, trace)
    if (response.keepAlive) drainRequestBody(request)
  }

  function refuseConnect({ socket, remoteAddress }: IncomingRequest): void {
    observer.connectionRejected('connect_not_supported', remoteAddress)
    respondToUnparsed(socket, refusal('connect_not_supported', 'CONNECT is not supported'))
  }

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
        isProcessing: () => inPipeline > 0,
        abort: () => pipeline.upstreams.close(),
        onGraceExpired: observer.requestsAborted,
      })
    },
  }
}
