import { refusal } from '../interface/errors.ts'
import { answerUnparsed } from '../interface/unparsed-requests.ts'
import type { ClientAnswer } from './edge/client-answer.ts'
import { ArrivingBody, noBody, type BodyPace } from './edge/client-body.ts'
import type { ClientRequest } from './edge/client-request.ts'
import { closeInTurn } from './edge/close-in-turn.ts'
import type { LimitSettings, ListenSettings } from './edge/edge-settings.ts'
import { ClientGone } from './edge/client-gone.ts'
import { createListener, type Listener, type ListenerOptions } from './edge/listener.ts'
import type { GatewayTelemetry } from './observe/observe.ts'
import { handle, type Pipeline } from './pipeline.ts'
import { answerable, drain, refuse } from './refuse.ts'
import { startTrace, type Trace } from './trace.ts'

/** Used by `createGatewayServer`. */
export interface GatewayServerOptions {
  readonly pipeline: Pipeline
  readonly listener: ListenerOptions
  readonly limits: Pick<LimitSettings, 'minBodyBytesPerSecond'>
  readonly telemetry: GatewayTelemetry
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

/** Creates the HTTP/1.1 server of the gateway, which feeds the pipeline. */
export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { pipeline, telemetry, limits } = options
  const { timeouts } = options.listener
  const bodyPace: BodyPace = {
    patienceMs: timeouts.bodyTimeoutMs,
    bytesPerSecond: limits.minBodyBytesPerSecond,
  }
  let passing = 0
  const listener = createListener(options.listener, { request: take, turnedAway: telemetry.turnedAway })

  function take(request: ClientRequest, response: ClientAnswer): void {
    if (request.head.method === 'CONNECT') {
      refuseTunnel(request)
      return
    }
    const trace = startTrace(request)
    response.closing.add(() => telemetry.ended(trace, response))
    telemetry.begun(trace, request)
    void serve(request, response, trace)
  }

  async function serve(request: ClientRequest, response: ClientAnswer, trace: Trace): Promise<void> {
    const body = request.isComplete ? noBody : new ArrivingBody(request, response, bodyPace)
    passing += 1
    try {
      await handle(request, body, response, pipeline, trace)
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

  function refuseTunnel({ socket, client }: ClientRequest): void {
    telemetry.turnedAway('connect_not_supported', client)
    answerUnparsed(socket, refusal('connect_not_supported', 'CONNECT is not supported'))
  }

  let problem: string | undefined = 'the gateway is starting'
  return {
    setCertificates: (context) => listener.setCertificates(context),
    problem: () => problem,
    async listen({ host, port }) {
      const bound = await listener.listen({ host, port })
      problem = undefined
      const scheme = options.listener.tls === undefined ? 'http' : 'https'
      return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}`
    },
    async close() {
      problem = 'the gateway is shutting down'
      await closeInTurn({
        listener,
        delayMs: listener.isListening ? timeouts.drainDelayMs : 0,
        graceMs: timeouts.drainTimeoutMs,
        isPassing: () => passing > 0,
        endExchanges: () => pipeline.upstreams.close(),
        stragglers: telemetry.stragglers,
      })
    },
  }
}
