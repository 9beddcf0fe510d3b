import { formatIdentifierText } from '../../catalog-api/index.ts'
import type { ConsoleSource, UpstreamState } from '../../console/index.ts'
import { type AssertionSigner, openAssertionSigner, type StaticKey } from '../../identity/index.ts'
import { bodyBounds, clientBounds } from '../bounds.ts'
import { startChangeTracker, type ChangeTracker } from '../changes/change-tracker.ts'
import { createDocumentFinder } from '../documents.ts'
import { createListingObserver } from '../listing/incomplete-listing.ts'
import { createSealedIds, createPageTokens } from '../sealed-tokens.ts'
import { createRefusalRecorder } from '../observability/refusal-recorder.ts'
import { createReadinessChecks } from '../observability/gateway-readiness.ts'
import {
  createMetricsSink,
  createRequestObserver,
  createShadowSink,
  endSpans,
} from '../observability/request-observer.ts'
import { createLogSink } from '../observability/request-log-line.ts'
import type { Scheme } from '../stages/receive.ts'
import { createClientAddressReader, createForwardedCertificateReader } from '../trusted-proxies.ts'
import type { Pipeline } from '../pipeline.ts'
import { createRequestHandler } from '../request-handler.ts'
import { cacheRoutes, createRouteFinder } from '../stages/match.ts'
import { createSettingsVocabulary } from '../../policy/index.ts'
import { openIdentity } from './open-identity.ts'
import { openLimits } from './open-limits.ts'
import type { Bootstrap } from './open-observability.ts'
import { openPolicies } from './open-policies.ts'
import { type AuditLog, openAuditLog, openSinks, type Retention } from '../../audit/index.ts'
import { type Upstreams, readUpstreamOptions, createUpstreams } from '../upstream/upstreams.ts'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { openKey } from '../../lib/index.ts'
import { version } from '../../version.ts'
import {
  createAuditObserver,
  createSinkObserver,
  exportAudit,
  exportCertificate,
  exportSinks,
  type Metrics,
} from '../../observability/index.ts'
import { createCallerHeaders } from '../upstream/request-headers.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { CircuitState } from '../upstream/upstream-health.ts'
import { poolNames } from '../../limits/index.ts'
import type { ConnectionSlots } from '../upstream/connection-slots.ts'

/** A gateway without a server. */
export type OpenedGateway = Awaited<ReturnType<typeof openGateway>>

/**
 * Opens everything that handles requests. The closing stack of `observability` closes it. `basePath` precedes all paths
 * of the catalog API; `staticKey` is the development key, in memory only.
 */
export async function openGateway(
  observability: Bootstrap,
  scheme: Scheme,
  basePath: string,
  staticKey?: StaticKey,
) {
  const { settings, tuning, closers, metrics, log, files, gatewayLog, traces } = observability
  let changeTracker: ChangeTracker | undefined
  const { auditLog, sinks } = await openAudit(observability, () => changeTracker?.listInDoubtIntents())
  const policies = await openPolicies(observability, auditLog)
  const authenticator = await openIdentity(observability, staticKey, auditLog)
  const { assertion } = settings.identity
  const assertions = assertion && (await openAssertionSigner(assertion, Date.now))
  const upstreams = await openUpstreams(observability, assertions)
  changeTracker = await openChanges(observability, auditLog, upstreams)
  const limiting = await openLimits(observability, upstreams)
  const refusals = createRefusalRecorder(auditLog)
  closers.push(() => refusals.close())
  const { limits, listing } = settings
  const observer = createRequestObserver(
    metrics,
    log,
    refusals,
    [
      createMetricsSink(metrics),
      createShadowSink(metrics, log),
      createLogSink(gatewayLog),
      ...(traces ? [endSpans] : []),
    ],
    traces,
  )
  // Tokens and ids stay valid after a restart.
  const tokenSecret = await openKey(listing?.tokenKeyFile, join(settings.audit.folder, 'token-key'))
  const pipeline: Pipeline = {
    findDocument: createDocumentFinder(assertions?.jwks, basePath, upstreams.extraOperations),
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
  const handler = createRequestHandler(pipeline, observer, { ...clientBounds, ...tuning.clients })
  /** What the console shows; undefined without it. */
  const console: Omit<ConsoleSource, 'checks'> | undefined = settings.admin.console
    ? {
        upstreams: () => upstreams.all.map(getUpstreamState),
        policies: () => policies.current(),
        async policiesLoadedAt() {
          const { values } = await metrics.policy_last_reload_success_timestamp_seconds.get()
          return values[0]?.value ?? 0
        },
        vocabulary: createSettingsVocabulary(settings).options,
        audit: auditLog,
        auditFolder: settings.audit.folder,
        sinks,
      }
    : undefined
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
    console,
  }
}

function getUpstreamState(upstream: Upstream): UpstreamState {
  const { name, origin, namespaces, health, slots } = upstream
  const all = [slots.small, slots.listing, slots.bulk]
  const sum = (count: (of: (typeof all)[number]) => number): number =>
    all.reduce((total, of) => total + count(of), 0)
  return {
    name,
    origin,
    namespaces: namespaces?.map(formatIdentifierText),
    healthy: health.isHealthy,
    breaker: health.circuit,
    active: sum((of) => of.used),
    pending: sum((of) => of.pending),
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

/**
 * Opens the audit log and its sinks. The sinks are opened first, so that retention removes nothing undelivered, and
 * closed last, so that they deliver the last records. Retention keeps the segments named by `unresolved`.
 */
async function openAudit(
  { settings: { audit }, tuning, closers, metrics, log, outbound }: Bootstrap,
  unresolved: NonNullable<Retention['inDoubtIntents']>,
) {
  const sinks = await openSinks({
    folder: audit.folder,
    settings: audit.sinks,
    resource: { gateway: hostname(), software: version },
    observer: createSinkObserver(metrics, log, audit.sinks),
    outbound,
  })
  closers.push(() => sinks.close())
  exportSinks(metrics, sinks)
  const { maxAgeDays, maxBytes } = audit.retention
  const auditLog = await openAuditLog({
    ...audit,
    ...tuning.auditLog,
    retention: {
      maxAgeMs: maxAgeDays && maxAgeDays * 86_400_000,
      maxBytes,
      oldestNeededSegment: sinks.oldestNeededSegment,
      inDoubtIntents: unresolved,
    },
    gateway: hostname(),
    software: version,
    observer: createAuditObserver(metrics, log),
  })
  closers.push(() => auditLog.close())
  sinks.start(() => auditLog.durableEnd())
  exportAudit(metrics, auditLog, audit.folder)
  return { auditLog, sinks }
}

/** Opens the upstreams, and follows the files that their settings name. */
async function openUpstreams(
  { settings, tuning, closers, metrics, log, files, outbound }: Bootstrap,
  assertions: AssertionSigner | undefined,
): Promise<Upstreams> {
  const options = await Promise.all(
    settings.upstreams.map(async (upstream) => ({
      ...(await readUpstreamOptions(upstream, outbound, files.follow, (certificate) =>
        exportCertificate(metrics, certificate, upstream.name),
      )),
      bounds: tuning.upstream,
      callerHeaders: createCallerHeaders(upstream.name, upstream.identity, assertions),
    })),
  )
  const upstreams = createUpstreams(options, (event, upstream, reason) => {
    if (reason === undefined) log.info({ upstream }, event)
    else log.warn({ upstream, reason }, event)
  })
  closers.push(() => upstreams.close())
  exportUpstreams(metrics, upstreams.all)
  return upstreams
}

const circuitStates: readonly CircuitState[] = ['closed', 'open']

/** Exports the state of the upstreams. */
function exportUpstreams(metrics: Metrics, upstreams: readonly Upstream[]): void {
  const ofEach = (read: (upstream: Upstream) => number) => () =>
    upstreams.map((each) => [{ upstream: each.name }, read(each)] as const)
  metrics.upstream_healthy(ofEach(({ health }) => (health.isHealthy ? 1 : 0)))
  metrics.upstream_credential_refused(ofEach(({ health }) => (health.isCredentialRefused ? 1 : 0)))
  metrics.upstream_connections(ofEach(({ client }) => client.connectionCount()))
  metrics.upstream_circuit_breaker_state(() =>
    upstreams.flatMap(({ name: upstream, health }) =>
      circuitStates.map((state) => [{ upstream, state }, health.circuit === state ? 1 : 0] as const),
    ),
  )
  const ofEachPool = (read: (slots: ConnectionSlots) => number) => () =>
    upstreams.flatMap(({ name: upstream, slots }) =>
      poolNames.map((pool) => [{ upstream, pool }, read(slots[pool])] as const),
    )
  metrics.upstream_active_requests(ofEachPool((slots) => slots.used))
  metrics.upstream_max_active_requests(ofEachPool(({ capacity }) => capacity))
  metrics.upstream_pending_requests(ofEachPool((slots) => slots.pending))
  metrics.upstream_max_pending_requests(ofEachPool(({ maxPending }) => maxPending))
}
