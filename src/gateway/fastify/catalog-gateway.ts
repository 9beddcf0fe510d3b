import { Server } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fastifyPlugin } from 'fastify-plugin'
import { type GatewaySettings, readEmbeddedSettings } from '../../config/index.ts'
import type { Principal } from '../../identity/index.ts'
import { ClosingStack } from '../../lib/async/closing-stack.ts'
import { reloadFiles } from '../../lib/fs/follow-files.ts'
import { readReadiness } from '../../observability/health/readiness.ts'
import { renderMetrics } from '../../observability/metrics/render-metrics.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import { openGateway } from '../bootstrap/open-gateway.ts'
import { openObservability } from '../bootstrap/open-observability.ts'
import { GatewayRoute } from './gateway-route.ts'
import type { CatalogDecision, CatalogGatewayOptions, EmbeddedGateway } from './plugin-types.ts'

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
