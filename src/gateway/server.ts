import fastify from 'fastify'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keySetPath } from '../identity/assertions.ts'
import { InterfaceError } from '../interface/errors.ts'
import { openApiPath, openApiText } from '../interface/openapi.ts'
import { answerUnparsed, refuseUnparsed } from '../interface/unparsed-requests.ts'
import { clientBody, noBody, type BodyPace } from './edge/client-body.ts'
import { closeInTurn } from './edge/close-in-turn.ts'
import { watchConnections } from './edge/connections.ts'
import type { LimitSettings, ListenSettings } from './edge/edge-settings.ts'
import { ClientGone } from './edge/client-gone.ts'
import { createListener, type ListenerOptions } from './edge/listener.ts'
import type { GatewayTelemetry } from './observe/observe.ts'
import { admit, pass, type PipelineParts } from './pipeline.ts'
import { answerable, drain, refuse } from './refuse.ts'
import { beginTrace, type Trace } from './trace.ts'
import { unparsedReason } from './edge/unparsed-reason.ts'

/** What the server needs besides the parts of the pipeline. */
export interface GatewayServerOptions extends PipelineParts, Omit<ListenerOptions, 'certificateRefused'> {
  readonly limits: LimitSettings
  readonly telemetry: GatewayTelemetry
  /** The JSON Web Key Set of what upstreams are told about callers; undefined where nothing is signed. */
  readonly keySet: string | undefined
}

/** The HTTP server of the gateway. */
export interface GatewayServer {
  /** The server beneath, for those who follow its certificates. */
  readonly http: ReturnType<typeof createListener>
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
 * Builds the HTTP server of the gateway. Its documents are routes of fastify; what is for the catalog goes from the
 * listener straight into the pipeline: what the router and the hooks in between would do to it, which is to decode
 * its target and to choose a parser for its body, is done by stages of our own.
 */
export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { telemetry, timeouts, limits, upstreams } = options
  const bodyPace: BodyPace = { patienceMs: timeouts.bodyMs, bytesPerSecond: limits.bodyBytesPerSecond }
  const documents = new Map([[openApiPath, openApiText()]])
  if (options.keySet !== undefined) documents.set(keySetPath, options.keySet)
  let passing = 0
  const server = fastify({
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // With a server of our own fastify opens no second one for another address of the same name: that one would
    // have none of our limits.
    serverFactory: (route) =>
      createListener((request, response) => take(request, response, route), {
        ...options,
        certificateRefused: (client, cause) => telemetry.turnedAway('certificate', client, cause),
      }),
    clientErrorHandler: (error, socket) => {
      const reason = unparsedReason(error, socket)
      if (reason === undefined) {
        socket.destroy()
        return
      }
      telemetry.turnedAway(reason, socket.remoteAddress, error.code)
      if (reason === 'idle' || reason === 'tls_handshake') socket.destroy()
      else if (!connections.closeBehindAnswers(socket)) answerUnparsed(socket, refuseUnparsed(error))
    },
  })

  server.server.on('connect', (_request, socket) => {
    telemetry.turnedAway('tunnel', 'remoteAddress' in socket ? String(socket.remoteAddress) : undefined)
    answerUnparsed(socket, new InterfaceError('Unsupported', 'CONNECT is not served here', { status: 405 }))
  })
  const connections = watchConnections(server.server, limits, telemetry.turnedAway)
  for (const [path, text] of documents) {
    server.get(path, (_request, reply) => reply.header('content-type', 'application/json').send(text))
  }

  function take(request: IncomingMessage, response: ServerResponse, route: RequestListener): void {
    if (request.method === 'GET' && documents.has(request.url ?? '')) {
      if (connections.begin(request, response, () => undefined)) route(request, response)
      return
    }
    const trace = beginTrace(request)
    if (!connections.begin(request, response, () => telemetry.ended(trace, response))) return
    telemetry.begun(trace, request)
    void answer(request, response, trace)
  }

  async function answer(request: IncomingMessage, response: ServerResponse, trace: Trace): Promise<void> {
    let body = noBody
    passing += 1
    try {
      const admission = admit(request, response, request.url ?? '', options, trace)
      const admitted = admission instanceof Promise ? await admission : admission
      if (admitted.permitted.hasBody) body = clientBody(request, response, bodyPace)
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

  function fail(request: IncomingMessage, response: ServerResponse, trace: Trace, error: unknown): void {
    if (error instanceof ClientGone) return
    const refusal = answerable(error)
    telemetry.refused(trace, refusal)
    refuse(request, response, refusal, trace)
    drain(request)
  }

  let problem: string | undefined = 'the gateway is starting'
  return {
    http: server.server,
    problem: () => problem,
    async listen({ host, port }) {
      await server.listen({ host, port })
      problem = undefined
      const { port: bound } = server.server.address() as AddressInfo
      const scheme = options.tls === undefined ? 'http' : 'https'
      return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${bound}`
    },
    async close() {
      problem = 'the gateway is shutting down'
      await closeInTurn({
        connections,
        delayMs: server.server.listening ? timeouts.drainDelayMs : 0,
        graceMs: timeouts.drainGraceMs,
        isPassing: () => passing > 0,
        stopAccepting: () => server.close(),
        endExchanges: () => upstreams.close(),
        stragglers: telemetry.stragglers,
      })
    },
  }
}
