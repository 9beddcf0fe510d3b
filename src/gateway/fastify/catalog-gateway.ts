import { Server, type IncomingMessage, type ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { FastifyInstance, FastifyRequest, FastifyReply } from 'fastify'
import { fastifyPlugin } from 'fastify-plugin'
import { type GatewaySettings, readEmbeddedSettings, type EmbeddedSettings } from '../../config/index.ts'
import { type Principal, authenticateByApplication, type ApplicationPrincipal } from '../../identity/index.ts'
import { ClosingStack } from '../../lib/async/closing-stack.ts'
import { reloadFiles } from '../../lib/fs/follow-files.ts'
import { readReadiness } from '../../observability/health/readiness.ts'
import { renderMetrics } from '../../observability/metrics/render-metrics.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import { openGateway, type OpenedGateway } from '../bootstrap/open-gateway.ts'
import { openObservability } from '../bootstrap/open-observability.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { NodeRequests } from '../../node-http/node-requests.ts'
import type { NodeResponse } from '../../node-http/node-response.ts'
import { clientBounds } from '../bounds.ts'
import type { Pipeline } from '../pipeline.ts'
import { createRequestErrorResponse } from '../error-response.ts'
import type { Trace } from '../trace.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly catalogGateway: EmbeddedGateway
  }
  interface FastifyRequest {
    /** Undefined outside of the gateway, and before the request is authenticated. */
    readonly catalogPrincipal: Principal | undefined
    /** Undefined outside of the gateway, and before the policies have decided. */
    readonly catalogDecision: CatalogDecision | undefined
  }
}

/**
 * Mounts the gateway in a Fastify application, over HTTP/1.1: every request below the prefix is authenticated,
 * authorized, limited, checked and audited as by `catalog-gateway serve`. `onRequest` hooks of the application run before;
 * its parsers, validation and error handlers do not see these requests. Rejects for unusable settings or files;
 * `app.close()` closes what was opened.
 */
export const catalogGateway = fastifyPlugin(
  async (app: FastifyInstance, options: CatalogGatewayOptions): Promise<void> => {
    const { authenticate, folder = '.', prefix: ownPrefix = '' } = options
    assertSupported(app)
    const prefix = app.prefix + ownPrefix
    const settings = readEmbeddedSettings(options.settings, {
      prefix,
      folder,
      isAuthenticated: authenticate !== undefined,
    })
    const closers = new ClosingStack()
    app.addHook('onClose', () => closers.close())
    await open(app, settings, { prefix, ownPrefix, authenticate, closers })
  },
  { fastify: '5.x', name: 'catalog-gateway' },
)

interface Mount {
  /** With that of the context of the application. */
  readonly prefix: string
  readonly ownPrefix: string
  readonly authenticate: CatalogGatewayOptions['authenticate']
  readonly closers: ClosingStack
}

async function open(
  app: FastifyInstance,
  settings: GatewaySettings,
  { prefix, ownPrefix, authenticate, closers }: Mount,
): Promise<void> {
  const observability = await openObservability(settings, closers)
  const { registry } = observability.metrics
  const gateway = await openGateway(observability, {
    scheme: 'setSecureContext' in app.server ? 'https' : 'http',
    basePath: prefix,
  })
  const route = new GatewayRoute(app, gateway, settings, authenticate)
  route.mount(ownPrefix, prefix)
  app.addHook('preClose', () => route.drain())
  app.decorate('catalogGateway', {
    metrics: (accept?: string) => renderMetrics([registry], accept),
    findProblems: async () => (await readReadiness(gateway.checks)).problems,
    reload: reloadFiles,
  })
  app.decorateRequest('catalogPrincipal', {
    getter(this: FastifyRequest) {
      return route.traceOf(this)?.progress.principal
    },
  })
  app.decorateRequest('catalogDecision', {
    getter(this: FastifyRequest): CatalogDecision | undefined {
      const { progress, denial } = route.traceOf(this) ?? {}
      if (progress?.allowedBy) return describeDecision(true, progress.allowedBy)
      return denial && describeDecision(false, denial)
    },
  })
}

function describeDecision(
  isAllowed: boolean,
  { rule, revision }: { readonly rule?: RuleReference | undefined; readonly revision: string },
): CatalogDecision {
  return { isAllowed, rule, policyRevision: revision }
}

/** Throws for options of the application with which it would read other requests or targets than the gateway. */
function assertSupported(app: FastifyInstance): void {
  const server: object = app.server
  if (!(server instanceof Server) && !(server instanceof TlsServer))
    throw new Error(
      'catalog-gateway serves HTTP/1.1 only, on a server of node:http or node:https: remove http2: true',
    )
  const { caseSensitive, routerOptions } = app.initialConfig
  if (caseSensitive === false || routerOptions?.caseSensitive === false)
    throw new Error('catalog-gateway needs case-sensitive routes: remove caseSensitive: false')
}

/** The requests of a Fastify application that are for the gateway. */
class GatewayRoute {
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

export interface CatalogGatewayOptions {
  /** Those of the settings file, without the parts of the application itself: ports, TLS. */
  readonly settings: EmbeddedSettings
  /** Path of the gateway in the application; the root by default. */
  readonly prefix?: string
  /**
   * Authenticates in place of `settings.identity`: returns the principal of a request, or undefined, which is 401. If it
   * throws, the response is 503.
   */
  readonly authenticate?: (
    request: FastifyRequest,
  ) => ApplicationPrincipal | undefined | Promise<ApplicationPrincipal | undefined>
  /** Folder of relative paths in the settings; the working directory by default. */
  readonly folder?: string
}

/** The decision of the policies about a request. */
export interface CatalogDecision {
  readonly isAllowed: boolean
  /** Absent if no rule decided. */
  readonly rule?: RuleReference | undefined
  readonly policyRevision: string
}

/** The gateway of an application. */
export interface EmbeddedGateway {
  /** Metrics in the text format of Prometheus, for `accept` of a scraper. */
  metrics(accept?: string): Promise<{ readonly contentType: string; readonly text: string }>
  /** Why it should get no requests, by the name of a check; empty if it is ready. */
  findProblems(): Promise<Readonly<Record<string, string>>>
  /** Reads all watched files again: policies, keys, certificates. */
  reload(): Promise<void>
}
