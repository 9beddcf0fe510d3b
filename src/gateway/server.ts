import { InterfaceError } from '../interface/errors.ts'
import { answerUnparsed } from '../interface/unparsed-requests.ts'
import { headersFor } from './answered-for.ts'
import { DeniedError } from './denied-error.ts'
import { createDocuments, type Document } from './documents.ts'
import type { OutgoingResponse } from '../http1/server/outgoing-response.ts'
import { BodyTimeout } from './body/body-timeout.ts'
import { noBody, type DownstreamBody } from './body/downstream-body.ts'
import { RequestBody, type RequestBodyOptions } from '../http1/server/request-body.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import { shutDownGracefully } from '../http1/server/graceful-shutdown.ts'
import type { LimitSettings, ListenSettings } from '../config/listen-settings.ts'
import { ClientDisconnected } from './client-disconnected.ts'
import type { Http1Server } from '../http1/server/http1-server.ts'
import { createListener, type ListenerOptions } from './listener.ts'
import { scheduleAtTickEnd } from '../lib/async/schedule-at-tick-end.ts'
import type { GatewayTelemetry } from './observe/observe.ts'
import { admit, pass, type PipelineParts } from './pipeline.ts'
import { receive } from './receive.ts'
import { answerable, drain, refuse } from './refuse.ts'
import { beginTrace, type Trace } from './trace.ts'

/** What the server needs besides the parts of the pipeline. */
export interface GatewayServerOptions extends PipelineParts, ListenerOptions {
  readonly limits: LimitSettings
  readonly telemetry: GatewayTelemetry
  /** The JSON Web Key Set of what upstreams are told about callers; undefined where nothing is signed. */
  readonly keySet: string | undefined
}

/** The HTTP server of the gateway. */
export interface GatewayServer {
  readonly setCertificates: Http1Server['setCertificates']
  /** Resolves with the URL when requests are taken. */
  listen(where: Pick<ListenSettings, 'host' | 'port'>): Promise<string>
  /** Why no requests should be sent here: it does not listen yet, or not for much longer. */
  readonly problem: () => string | undefined
  /**
   * Stops taking requests, finishes those under way, and cuts off what takes longer than the grace: when it
   * resolves, nothing is under way any more, neither with a client nor with an upstream.
   */
  close(): Promise<void>
}

/**
 * Builds the HTTP server of the gateway: every request is received by the same rules; then documents are answered
 * here, and all else goes through the pipeline.
 */
export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { telemetry, timeouts, limits, upstreams } = options
  const bodyOptions: RequestBodyOptions = {
    timeoutMs: timeouts.bodyMs,
    minBytesPerSecond: limits.bodyBytesPerSecond,
    error: (reason) =>
      reason === 'timeout'
        ? new BodyTimeout()
        : new ClientDisconnected('the client aborted the request body'),
  }
  const findDocument = createDocuments(options.keySet)
  let passing = 0
  const listener = createListener(options, {
    onRequest: take,
    onConnectionError: telemetry.turnedAway,
  })

  function take(request: IncomingRequest, response: OutgoingResponse): void {
    if (request.head.method === 'CONNECT') {
      refuseTunnel(request)
      return
    }
    const trace = beginTrace(request)
    response.onClose.add(() => telemetry.ended(trace, response))
    telemetry.begun(trace, request)
    void answer(request, response, trace)
  }

  async function answer(request: IncomingRequest, response: OutgoingResponse, trace: Trace): Promise<void> {
    let body: DownstreamBody = noBody
    passing += 1
    try {
      const received = receive(request, options, trace.requestId)
      const document = findDocument(received)
      if (document !== undefined) {
        answerDocument(document, response, trace)
        return
      }
      const admission = admit(received, response, options, trace)
      const admitted = admission instanceof Promise ? await admission : admission
      if (admitted instanceof DeniedError) {
        fail(request, response, trace, admitted)
        return
      }
      if (admitted.permitted.hasBody) body = new RequestBody(request, response, bodyOptions)
      await pass(admitted, body, response, options, trace)
      body.release()
      drain(request)
    } catch (error) {
      body.release()
      fail(request, response, trace, error)
    } finally {
      passing -= 1
    }
  }

  function fail(request: IncomingRequest, response: OutgoingResponse, trace: Trace, error: unknown): void {
    if (error instanceof ClientDisconnected) return
    const refusal = answerable(error)
    telemetry.refused(trace, refusal)
    refuse(response, refusal, trace)
    drain(request)
  }

  function answerDocument({ name, bytes }: Document, response: OutgoingResponse, trace: Trace): void {
    trace.document = name
    options.shedding.admitDocument()
    const length = String(bytes.length)
    const headers = ['content-type', 'application/json', 'content-length', length, ...headersFor(trace)]
    response.writeHead(200, headers)
    scheduleAtTickEnd(() => response.end(bytes))
  }

  function refuseTunnel({ socket, remoteAddress }: IncomingRequest): void {
    telemetry.turnedAway('tunnel', remoteAddress)
    answerUnparsed(socket, new InterfaceError('Unsupported', 'CONNECT is not served here', { status: 405 }))
  }

  let problem: string | undefined = 'the gateway is starting'
  return {
    setCertificates: (context) => listener.setCertificates(context),
    problem: () => problem,
    async listen({ host, port }) {
      const bound = await listener.listen({ host, port })
      problem = undefined
      const scheme = options.tls === undefined ? 'http' : 'https'
      return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}`
    },
    async close() {
      problem = 'the gateway is shutting down'
      await shutDownGracefully({
        server: listener,
        drainDelayMs: listener.isListening ? timeouts.drainDelayMs : 0,
        graceMs: timeouts.drainGraceMs,
        isProcessing: () => passing > 0,
        abort: () => upstreams.close(),
        onGraceExpired: telemetry.stragglers,
      })
    },
  }
}
