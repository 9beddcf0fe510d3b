import { InterfaceError } from '../interface/errors.ts'
import { answerUnparsed } from '../interface/unparsed-requests.ts'
import { headersFor } from './answered-for.ts'
import { DeniedError } from './denied-error.ts'
import { createDocuments, type Document } from './documents.ts'
import type { ClientAnswer } from './edge/client-answer.ts'
import { ArrivingBody, noBody, type BodyPace, type ClientBody } from './edge/client-body.ts'
import type { ClientRequest } from './edge/client-request.ts'
import { closeInTurn } from './edge/close-in-turn.ts'
import type { LimitSettings, ListenSettings } from './edge/edge-settings.ts'
import { ClientGone } from './edge/client-gone.ts'
import { createListener, type Listener, type ListenerOptions } from './edge/listener.ts'
import { atEndOfTurn } from './end-of-turn.ts'
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
  readonly setCertificates: Listener['setCertificates']
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
  const bodyPace: BodyPace = { patienceMs: timeouts.bodyMs, bytesPerSecond: limits.bodyBytesPerSecond }
  const findDocument = createDocuments(options.keySet)
  let passing = 0
  const listener = createListener(options, { request: take, turnedAway: telemetry.turnedAway })

  function take(request: ClientRequest, response: ClientAnswer): void {
    if (request.head.method === 'CONNECT') {
      refuseTunnel(request)
      return
    }
    const trace = beginTrace(request)
    response.closing.add(() => telemetry.ended(trace, response))
    telemetry.begun(trace, request)
    void answer(request, response, trace)
  }

  async function answer(request: ClientRequest, response: ClientAnswer, trace: Trace): Promise<void> {
    let body: ClientBody = noBody
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
      if (admitted.permitted.hasBody) body = new ArrivingBody(request, response, bodyPace)
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

  function fail(request: ClientRequest, response: ClientAnswer, trace: Trace, error: unknown): void {
    if (error instanceof ClientGone) return
    const refusal = answerable(error)
    telemetry.refused(trace, refusal)
    refuse(response, refusal, trace)
    drain(request)
  }

  function answerDocument({ name, bytes }: Document, response: ClientAnswer, trace: Trace): void {
    trace.document = name
    options.shedding.admitDocument()
    const length = String(bytes.length)
    const headers = ['content-type', 'application/json', 'content-length', length, ...headersFor(trace)]
    response.writeHead(200, headers)
    atEndOfTurn(() => response.end(bytes))
  }

  function refuseTunnel({ socket, client }: ClientRequest): void {
    telemetry.turnedAway('tunnel', client)
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
      await closeInTurn({
        listener,
        delayMs: listener.isListening ? timeouts.drainDelayMs : 0,
        graceMs: timeouts.drainGraceMs,
        isPassing: () => passing > 0,
        endExchanges: () => upstreams.close(),
        stragglers: telemetry.stragglers,
      })
    },
  }
}
