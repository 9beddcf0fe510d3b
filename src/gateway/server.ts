import httpProxy from '@fastify/http-proxy'
import fastify, { type FastifyInstance } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ClientGone } from './exchange.ts'
import { openApiPath, openApiText } from '../interface/openapi.ts'
import { answerUnparsed, refuseUnparsed } from '../interface/unparsed-requests.ts'
import type { GatewayTelemetry } from './observe.ts'
import { admit, pass, type Admitted, type PipelineParts } from './pipeline.ts'
import { answerable, drain, refuse } from './refuse.ts'
import { watchRequests } from './requests-under-way.ts'
import { beginTrace, type Trace } from './trace.ts'

/** What the server needs besides the parts of the pipeline. */
export interface GatewayServerOptions extends PipelineParts {
  readonly telemetry: GatewayTelemetry
}

interface Underway {
  readonly trace: Trace
  readonly admitted: Admitted
}

/** Tokens of 16 KiB are accepted, so the head must have room for one and for the rest. */
const maximumHeaderBytes = 32 * 1024
const headersTimeoutMs = 30_000
/** Longer than load balancers keep idle connections, so that they close first. */
const keepAliveTimeoutMs = 75_000

/**
 * Builds the HTTP server of the gateway. A request is admitted in the `onRequest` hook, before its body is read;
 * what is refused there reaches neither a body parser nor the proxy. From then on the target of the request is the
 * rebuilt one, so that @fastify/http-proxy, which carries the request on, has never seen the raw one.
 */
export function createGatewayServer(options: GatewayServerOptions): FastifyInstance {
  const { telemetry } = options
  const document = openApiText()
  const underway = new WeakMap<IncomingMessage, Underway>()
  const server = fastify({
    bodyLimit: Number.MAX_SAFE_INTEGER,
    keepAliveTimeout: keepAliveTimeoutMs,
    http: { maxHeaderSize: maximumHeaderBytes, headersTimeout: headersTimeoutMs, requireHostHeader: false },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // The raw target is for our own parser: fastify's router, which decodes and normalises, sees none of it.
    rewriteUrl: () => '/',
    clientErrorHandler: (error, socket) => {
      const refusal = refuseUnparsed(error)
      telemetry.unparsed(refusal)
      if (!requests.closeBehindAnswers(socket)) answerUnparsed(socket, refusal)
    },
  })

  const requests = watchRequests(server)
  // Their size is bounded; by default node drops what is beyond a number of them, unseen by any check.
  server.server.maxHeadersCount = 0
  server.server.on('checkExpectation', (request, response) => server.routing(request, response))
  server.addHook('onRequest', async ({ raw, originalUrl, method }, reply) => {
    if (method === 'GET' && originalUrl === openApiPath) {
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
    try {
      await pass(found.admitted, request, response, options, found.trace)
      drain(request)
    } catch (error) {
      fail(request, response, found.trace, error)
    }
  }

  function fail(request: IncomingMessage, response: ServerResponse, trace: Trace, error: unknown): void {
    if (error instanceof ClientGone) return
    const refusal = answerable(error)
    telemetry.refused(trace, refusal, response)
    refuse(response, refusal, trace.requestId)
    drain(request)
  }

  server.setErrorHandler((error, request, reply) => {
    reply.hijack()
    const trace = underway.get(request.raw)?.trace ?? beginTrace(request.raw)
    fail(request.raw, reply.raw, trace, error)
  })
  void server.register(httpProxy, {
    upstream: options.upstream.origin,
    undici: options.upstream.pool,
    httpMethods: ['GET', 'POST'],
    handler: (request, reply) => {
      reply.hijack()
      return proceed(request.raw, reply.raw)
    },
  })
  return server
}
