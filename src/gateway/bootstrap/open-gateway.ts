import { openAssertionSigner, type StaticKey } from '../../identity/index.ts'
import type { ReadinessCheck } from '../../observability/health/readiness.ts'
import { bodyBounds, clientBounds } from '../bounds.ts'
import { startChangeTracker, type ChangeTracker } from '../changes/change-tracker.ts'
import { createDocumentFinder } from '../documents.ts'
import { createListingObserver } from '../listing/incomplete-listing.ts'
import { createSealedIds } from '../facts/sealed-ids.ts'
import { createPageTokens, openTokenSecret } from '../listing/page-tokens.ts'
import { createConsoleListing } from '../console-listing.ts'
import { createConsoleRecorder, getUpstreamState } from '../observability/console-recorder.ts'
import { createCredentialRefusalRecorder } from '../observability/credential-refusal-recorder.ts'
import { createReadinessChecks } from '../observability/gateway-readiness.ts'
import { createRequestObserver, type RequestObserver } from '../observability/request-observer.ts'
import { createLogSink } from '../observability/request-log-line.ts'
import { endSpans } from '../observability/request-sinks.ts'
import type { Scheme } from '../origin-form.ts'
import { createClientAddressReader } from '../client-address.ts'
import { createForwardedCertificateReader } from '../forwarded-certificate.ts'
import type { Pipeline } from '../pipeline.ts'
import { createRequestHandler, type RequestHandler } from '../request-handler.ts'
import { cacheRoutes, createRouteFinder } from '../stages/match.ts'
import { createSettingsVocabulary } from '../../policy/source/load-policies.ts'
import type { ConsoleSource } from '../../console/console.ts'
import { openAudit } from './open-audit.ts'
import { openIdentity } from './open-identity.ts'
import { openLimits, type OpenedLimits } from './open-limits.ts'
import type { Observability, Bootstrap } from './open-observability.ts'
import { openPolicies } from './open-policies.ts'
import { openUpstreams } from './open-upstreams.ts'
import type { AuditLog } from '../../audit/index.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

/** How requests reach a gateway. */
export interface GatewayAccess {
  readonly scheme: Scheme
  /** Path before all paths of the catalog API; empty if there is none. */
  readonly basePath: string
  /** The development key, in memory only. */
  readonly staticKey?: StaticKey | undefined
}

/** A gateway without a server. */
export interface OpenedGateway {
  readonly pipeline: Pipeline
  readonly handler: RequestHandler
  readonly observer: RequestObserver
  readonly limiting: OpenedLimits
  readonly checks: readonly ReadinessCheck[]
  /** What the console shows; undefined without the console. */
  readonly console: Omit<ConsoleSource, 'checks' | 'url'> | undefined
}

/** Opens everything that handles requests. The closing stack of `observability` closes it. */
export async function openGateway(
  observability: Observability,
  { scheme, basePath, staticKey }: GatewayAccess,
): Promise<OpenedGateway> {
  const { settings, tuning, closers, metrics, log, files, gatewayLog, traces } = observability
  const recorder = settings.admin.console ? createConsoleRecorder() : undefined
  let changeTracker: ChangeTracker | undefined
  const { auditLog, sinks } = await openAudit(observability, () => changeTracker?.listInDoubtIntents())
  const policies = await openPolicies(observability, auditLog)
  const authenticator = await openIdentity(observability, staticKey, auditLog)
  const { assertion } = settings.identity
  const assertions = assertion && (await openAssertionSigner(assertion, Date.now))
  const upstreams = await openUpstreams(observability, assertions)
  changeTracker = await openChanges(observability, auditLog, upstreams)
  const limiting = await openLimits(observability, upstreams)
  const credentials = createCredentialRefusalRecorder(auditLog)
  closers.push(() => credentials.close())
  const { limits, listing } = settings
  const observer = createRequestObserver(
    metrics,
    log,
    auditLog,
    credentials,
    [createLogSink(gatewayLog), endSpans, ...(recorder ? [recorder.recordEnd] : [])],
    traces,
    settings.metrics?.namespaces,
  )
  const tokenSecret = await openTokenSecret(settings.audit.folder, listing?.tokenKeyFile)
  const pipeline: Pipeline = {
    findDocument: createDocumentFinder(
      assertions?.jwks,
      basePath,
      upstreams.extraOperations,
      settings.identity.issuers.flatMap(({ name, tokenUrl }) =>
        tokenUrl === undefined ? [] : [{ name, tokenUrl }],
      ),
    ),
    findRoute: cacheRoutes(createRouteFinder(upstreams, { basePath, databases: settings.databases })),
    dialects: new Set(['catalog', ...settings.dialects]),
    scheme,
    readClientAddress: createClientAddressReader(settings.listen),
    readForwardedCertificate: createForwardedCertificateReader(settings.listen),
    allowedOrigins: new Set(settings.crossSite.allowedOrigins),
    authenticator,
    failedAuthentications: limiting.limits.failedAuthentications,
    policies,
    ...limiting,
    bodyLimits: { ...limits, ...bodyBounds, ...tuning.bodies },
    upstreams,
    auditLog,
    changeTracker,
    listingObserver: createListingObserver(metrics, log),
    pageTokens: createPageTokens(tokenSecret),
    sealedIds: createSealedIds(tokenSecret),
  }
  const handler = createRequestHandler({ pipeline, bounds: { ...clientBounds, ...tuning.clients }, observer })
  return {
    pipeline,
    handler,
    observer,
    limiting,
    checks: createReadinessChecks({
      audit: auditLog,
      policies,
      authenticator,
      upstreams,
      files,
    }),
    console: recorder && {
      listCatalog: createConsoleListing(handler, basePath),
      refusals: recorder.refusals,
      upstreams: () => upstreams.all.map(getUpstreamState),
      policies: () => policies.current(),
      async policiesLoadedAt() {
        const { values } = await metrics.policy_last_reload_success_timestamp_seconds.get()
        return values[0]?.value ?? 0
      },
      policyFolders: settings.policies.folder,
      vocabulary: createSettingsVocabulary(settings).options,
      audit: auditLog,
      auditFolder: settings.audit.folder,
      sinks,
    },
  }
}

/** Starts change tracking, and resolves in-doubt changes of the audit log. */
async function openChanges(
  { settings, tuning, closers, metrics, log }: Bootstrap,
  audit: AuditLog,
  upstreams: Upstreams,
): Promise<ChangeTracker> {
  const { folder } = settings.audit
  const times = tuning.resolution
  const changes = await startChangeTracker({ audit, folder, upstreams, metrics, log, times })
  closers.push(() => changes.close())
  // The segments that unresolved changes need are known only now.
  audit.prune()
  return changes
}
