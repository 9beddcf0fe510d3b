import httpProxy from '@fastify/http-proxy'
import fastify from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keySetPath } from '../identity/assertions.ts'
import { InterfaceError } from '../interface/errors.ts'
import { openApiPath, openApiText } from '../interface/openapi.ts'
import { answerUnparsed, refuseUnparsed } from '../interface/unparsed-requests.ts'
import { clientBody, type BodyPace } from './client-body.ts'
import { closeInTurn } from './close-in-turn.ts'
import { watchConnections } from './connections.ts'
import type { LimitSettings, ListenSettings } from './edge-settings.ts'
import { ClientGone } from './client-gone.ts'
import { createListener, type ListenerOptions } from './listener.ts'
import type { GatewayTelemetry } from './observe.ts'
import { admit, pass, type Admitted, type PipelineParts } from './pipeline.ts'
import { answerable, drain, refuse } from './refuse.ts'
import { beginTrace, type Trace } from './trace.ts'
import { unparsedReason } from './unparsed-reason.ts'

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

interface Underway {
  readonly trace: Trace
  readonly admitted: Admitted
}

/**
 * Builds the HTTP server of the gateway. A request is admitted in the `onRequest` hook, before its body is read;
 * what is refused there reaches neither a body parser nor the proxy. From then on the target of the request is the
 * rebuilt one, so that @fastify/http-proxy, which carries the request on, has never seen the raw one.
 */
export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { telemetry, timeouts, limits, upstreams } = options
  const bodyPace: BodyPace = { patienceMs: timeouts.bodyMs, bytesPerSecond: limits.bodyBytesPerSecond }
  const documents = new Map([[openApiPath, openApiText()]])
  if (options.keySet !== undefined) documents.set(keySetPath, options.keySet)
  const underway = new WeakMap<IncomingMessage, Underway>()
  let passing = 0
  const server = fastify({
    bodyLimit: Number.MAX_SAFE_INTEGER,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // The raw target is for our own parser: fastify's router, which decodes and normalises, sees none of it.
    rewriteUrl: () => '/',
    // With a server of our own fastify opens no second one for another address of the same name: that one would
    // have none of our limits.
    serverFactory: (handler) =>
      createListener(handler, {
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
  server.addHook('onRequest', async ({ raw, originalUrl, method }, reply) => {
    if (!connections.begin(raw, reply.raw)) {
      reply.hijack()
      return
    }
    const document = method === 'GET' ? documents.get(originalUrl) : undefined
    if (document !== undefined) {
      reply.header('content-type', 'application/json').send(document)
      return
    }
    const trace = beginTrace(raw)
    telemetry.begun(trace, reply.raw)
    try {
      const admitted = await admit(raw, originalUrl, options, trace)
      underway.set(raw, { trace, admitted })
      raw.url = admitted.permitted.upstreamTarget
      // The check has its own idea of content types; fastify's would answer 415 before it.
      raw.headers['content-type'] = undefined
    } catch (error) {
      reply.hijack()
      fail(raw, reply.raw, trace, error)
    }
  })

  async function proceed(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const found = underway.get(request)
    if (found === undefined) throw new Error('a request came to the proxy that was not admitted')
    const body = clientBody(request, response, bodyPace)
    passing += 1
    try {
      await pass(found.admitted, body, response, options, found.trace)
      body.release()
      drain(request)
    } catch (error) {
      body.release()
      fail(request, response, found.trace, error)
    } finally {
      passing -= 1
    }
  }

  function fail(request: IncomingMessage, response: ServerResponse, trace: Trace, error: unknown): void {
    if (error instanceof ClientGone) return
    const refusal = answerable(error)
    telemetry.refused(trace, refusal, response)
    refuse(request, response, refusal, trace.requestId)
    drain(request)
  }

  server.setErrorHandler((error, request, reply) => {
    reply.hijack()
    const trace = underway.get(request.raw)?.trace ?? beginTrace(request.raw)
    fail(request.raw, reply.raw, trace, error)
  })
  void server.register(httpProxy, {
    upstream: upstreams.root.origin,
    undici: upstreams.root.pool,
    httpMethods: ['GET', 'POST'],
    handler: (request, reply) => {
      reply.hijack()
      return proceed(request.raw, reply.raw)
    },
  })

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
