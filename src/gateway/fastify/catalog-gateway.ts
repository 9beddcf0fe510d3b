import { Server, type IncomingMessage, type ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { FastifyInstance, FastifyRequest, FastifyReply } from 'fastify'
import { fastifyPlugin } from 'fastify-plugin'
import { type EmbeddedSettings, type GatewaySettings, readEmbeddedSettings } from '../../config/index.ts'
import { type ApplicationPrincipal, authenticateByApplication, type Principal } from '../../identity/index.ts'
import { ClosingStack, reloadFiles } from '../../lib/index.ts'
import { readReadiness } from '../../observability/index.ts'
import type { RuleReference } from '../../policy/index.ts'
import { openGateway, type OpenedGateway } from '../bootstrap/open-gateway.ts'
import { openObservability } from '../bootstrap/open-observability.ts'
import { refusal } from '../../catalog-api/index.ts'
import { createRequestTaker, type NodeResponse } from '../../node-http/index.ts'
import { clientBounds } from '../bounds.ts'
import { createRequestErrorResponse } from '../error-response.ts'
import type { Trace } from '../trace.ts'

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
  /** Metrics in the text format of Prometheus. */
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>
  /** Why it should get no requests, by the name of a check; empty if it is ready. */
  findProblems(): Promise<Readonly<Record<string, string>>>
  /** Reads all watched files again: policies, keys, certificates. */
  reload(): Promise<void>
}

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
 * `app.close()` closes the gateway.
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
    const observability = await openObservability(settings, closers)
    const { registry } = observability.metrics
    const scheme = 'setSecureContext' in app.server ? 'https' : 'http'
    const gateway = await openGateway(observability, scheme, prefix)
    const traceOf = serve(app, gateway, settings, options)
    app.decorate('catalogGateway', {
      metrics: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
      findProblems: async () => (await readReadiness(gateway.checks)).problems,
      reload: reloadFiles,
    })
    app.decorateRequest('catalogPrincipal', {
      getter(this: FastifyRequest) {
        return traceOf(this)?.progress.principal
      },
    })
    app.decorateRequest('catalogDecision', {
      getter(this: FastifyRequest): CatalogDecision | undefined {
        const { progress, denial } = traceOf(this) ?? {}
        const decision = progress?.allowedBy ?? denial
        if (decision === undefined) return undefined
        const { allowed, rule, revision } = decision
        return { isAllowed: allowed, rule, policyRevision: revision }
      },
    })
  },
  { fastify: '5.x', name: 'catalog-gateway' },
)

/** Serves the requests of the application below the prefix. Returns the finder of the trace of one that has started. */
function serve(
  app: FastifyInstance,
  gateway: OpenedGateway,
  { timeouts }: GatewaySettings,
  { prefix = '', authenticate }: CatalogGatewayOptions,
): (request: FastifyRequest) => Trace | undefined {
  const { pipeline, handler, observer, limiting } = gateway
  const traces = new WeakMap<FastifyRequest, Trace>()
  const active = new Set<NodeResponse>()
  let isDraining = false
  const takeRequest = createRequestTaker({
    scheduler: limiting.requestQueue,
    sendTimeoutMs: clientBounds.sendTimeoutMs,
    isDraining: () => isDraining,
    onConnectionError: observer.connectionRejected,
    errorResponse: createRequestErrorResponse,
  })

  function take(request: FastifyRequest, reply: FastifyReply): void {
    if (request.originalUrl !== request.raw.url) {
      const message =
        'the application rewrites request targets (rewriteUrl), which the gateway does not support'
      void reply.code(500).send(refusal('internal_error', message).toResponse(request.id))
      return
    }
    reply.hijack()
    const authenticator = authenticate && {
      authenticate: () => authenticateByApplication(() => authenticate(request)),
    }
    takeRequest(request.raw, reply.raw, (received, response) => {
      active.add(response)
      response.onClose.add(() => active.delete(response))
      traces.set(request, handler.onRequest(received, response, authenticator))
    })
  }

  app.all(`${prefix}/*`, {
    onRequest: take,
    // Never called: the reply is hijacked before.
    handler: () => undefined,
  })
  // Node sends 100 (Continue) itself otherwise, before anything is decided.
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (!(request.url ?? '').startsWith(`${app.prefix}${prefix}/`)) response.writeContinue()
    app.routing(request, response)
  })
  // Each response becomes the last one of its connection, and those that are active after the drain timeout are aborted.
  app.addHook('preClose', () => {
    isDraining = true
    setTimeout(() => {
      pipeline.upstreams.close()
      for (const response of active) response.destroy()
    }, timeouts.drainTimeoutMs).unref()
  })
  return (request) => traces.get(request)
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
