import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refusal } from '../../catalog-api/catalog-error.ts'
import type { GatewaySettings } from '../../config/index.ts'
import { authenticateByApplication } from '../../identity/index.ts'
import { NodeRequests } from '../../node-http/node-requests.ts'
import type { NodeResponse } from '../../node-http/node-response.ts'
import type { OpenedGateway } from '../bootstrap/open-gateway.ts'
import { clientBounds } from '../bounds.ts'
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
  readonly #active = new Set<NodeResponse>()
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
    this.#requests = new NodeRequests({
      scheduler: gateway.limiting.requestQueue,
      sendTimeoutMs: clientBounds.sendTimeoutMs,
      isDraining: () => this.#isDraining,
      onConnectionError: gateway.observer.connectionRejected,
      errorResponse: createRequestErrorResponse,
    })
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
  }

  /** The trace of a request that has started. */
  traceOf(request: FastifyRequest): Trace | undefined {
    return this.#traces.get(request)
  }

  /** Makes each response the last one of its connection, and aborts those that are active after the drain timeout. */
  drain(): void {
    this.#isDraining = true
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
    this.#requests.take(request.raw, reply.raw, (received, response) => {
      this.#active.add(response)
      response.onClose.add(() => this.#active.delete(response))
      const trace = this.#gateway.handler.onRequest(received, response, this.#authenticatorFor(request))
      if (trace !== undefined) this.#traces.set(request, trace)
    })
  }

  #authenticatorFor(request: FastifyRequest): Pipeline['authenticator'] | undefined {
    const authenticate = this.#authenticate
    return authenticate && { authenticate: () => authenticateByApplication(() => authenticate(request)) }
  }
}
