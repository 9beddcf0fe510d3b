import type { IncomingMessage, ServerResponse } from 'node:http'
import { Http2ServerRequest, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refusal } from '../../catalog-api/catalog-error.ts'
import type { GatewaySettings } from '../../config/gateway-settings.ts'
import { authenticateByApplication } from '../../identity/application.ts'
import { readConnectionAddresses } from '../../lib/net/connection-addresses.ts'
import {
  createNodeRequests,
  type NodeRequestHandler,
  type NodeRequests,
} from '../../node-http/node-requests.ts'
import type { NodeResponse } from '../../node-http/node-response.ts'
import { PipelinedRequests } from '../../node-http/pipelined-requests.ts'
import type { OpenedGateway } from '../bootstrap/open-gateway.ts'
import { clientBounds, maxHeadBytes } from '../bounds.ts'
import type { Pipeline } from '../pipeline.ts'
import { createRequestErrorResponse } from '../request-error-response.ts'
import type { Trace } from '../trace.ts'
import type { CatalogGatewayOptions } from './plugin-types.ts'

/** The requests of a Fastify application that are for the gateway. */
export class GatewayRoute {
  readonly #app: FastifyInstance
  readonly #gateway: OpenedGateway
  readonly #settings: GatewaySettings
  readonly #authenticate: CatalogGatewayOptions['authenticate']
  readonly #requests: NodeRequests
  readonly #traces = new WeakMap<FastifyRequest, Trace>()
  readonly #pipelined = new WeakMap<Socket, PipelinedRequests>()
  readonly #active = new Set<NodeResponse>()
  readonly #sessions = new Set<ServerHttp2Session>()
  #isDraining = false

  constructor(
    app: FastifyInstance,
    gateway: OpenedGateway,
    settings: GatewaySettings,
    authenticate: CatalogGatewayOptions['authenticate'],
  ) {
    this.#app = app
    this.#gateway = gateway
    this.#settings = settings
    this.#authenticate = authenticate
    const { handler, observer, limiting } = gateway
    this.#requests = createNodeRequests(
      {
        scheduler: limiting.requestQueue,
        maxHeadBytes,
        sendTimeoutMs: clientBounds.sendTimeoutMs,
        onRequest: handler.onRequest,
        onConnectionError: observer.connectionRejected,
        errorResponse: createRequestErrorResponse,
      },
      {
        isLast: () => this.#isDraining,
        keepAliveSeconds: undefined,
        onLastResponse: (socket) => this.#pipelined.get(socket)?.close(),
      },
    )
  }

  /** Adds the route. `path` is the prefix with that of the context of the application. */
  mount(prefix: string, path: string): void {
    const app = this.#app
    app.all(`${prefix}/*`, {
      onRequest: (request, reply) => this.#take(request, reply),
      // Never called: the reply is hijacked before.
      handler: () => undefined,
    })
    // Node sends 100 (Continue) itself otherwise, before anything is decided.
    app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      if (!(request.url ?? '').startsWith(`${path}/`)) response.writeContinue()
      app.routing(request, response)
    })
    app.server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session)
      session.once('close', () => this.#sessions.delete(session))
    })
  }

  /** The trace of a request that has started. */
  traceOf(request: FastifyRequest): Trace | undefined {
    return this.#traces.get(request)
  }

  /** Makes each response the last one of its connection, and aborts those that are active after the drain timeout. */
  drain(): void {
    this.#isDraining = true
    for (const session of this.#sessions) session.close()
    const abort = (): void => {
      this.#gateway.pipeline.upstreams.close()
      for (const response of this.#active) response.destroy()
    }
    setTimeout(abort, this.#settings.timeouts.drainTimeoutMs).unref()
  }

  #take(request: FastifyRequest, reply: FastifyReply): void {
    if (request.originalUrl !== request.raw.url) {
      const message =
        'the application rewrites request targets (rewriteUrl), which the gateway does not support'
      void reply.code(500).send(refusal('internal_error', message).toResponse(request.id))
      return
    }
    reply.hijack()
    const onRequest: NodeRequestHandler['onRequest'] = (received, response) => {
      this.#active.add(response)
      response.onClose.add(() => this.#active.delete(response))
      const trace = this.#gateway.handler.onRequest(received, response, this.#authenticatorFor(request))
      if (trace !== undefined) this.#traces.set(request, trace)
    }
    const raw: unknown = request.raw
    if (raw instanceof Http2ServerRequest)
      this.#requests.takeHttp2(raw.stream, raw.rawHeaders, readConnectionAddresses(raw.socket), onRequest)
    else this.#takeHttp1(request.raw, reply.raw, onRequest)
  }

  #takeHttp1(
    raw: IncomingMessage,
    rawResponse: ServerResponse,
    onRequest: NodeRequestHandler['onRequest'],
  ): void {
    const { socket } = raw
    let pipelined = this.#pipelined.get(socket)
    if (pipelined === undefined) this.#pipelined.set(socket, (pipelined = new PipelinedRequests(socket)))
    pipelined.add(raw, rawResponse, () =>
      this.#requests.takeHttp1(raw, rawResponse, readConnectionAddresses(socket), onRequest),
    )
  }

  #authenticatorFor(request: FastifyRequest): Pipeline['authenticator'] | undefined {
    const authenticate = this.#authenticate
    return authenticate && { authenticate: () => authenticateByApplication(() => authenticate(request)) }
  }
}
