import { formatIdentifierText } from '../../catalog-api/index.ts'
import type { ConsoleSource, Fact } from '../../console/index.ts'
import { type AssertionSigner, openAssertionSigner, type StaticKey } from '../../identity/index.ts'
import { bodyBounds, clientBounds } from '../bounds.ts'
import { startChangeTracker, type ChangeTracker } from '../changes/change-tracker.ts'
import { createDocumentFinder } from '../documents.ts'
import { createSealedIds, createPageTokens } from '../sealed-tokens.ts'
import { createRefusalRecorder } from '../observability/refusal-recorder.ts'
import { createReadinessChecks } from '../observability/gateway-readiness.ts'
import { createRequestObserver } from '../observability/request-observer.ts'
import type { Scheme } from '../stages/receive.ts'
import { createClientAddressReader, createForwardedCertificateReader } from '../trusted-proxies.ts'
import type { Pipeline } from '../pipeline.ts'
import { createRequestHandler } from '../request-handler.ts'
import { cacheRoutes, createRouteFinder } from '../stages/match.ts'
import { createSettingsVocabulary } from '../../policy/index.ts'
import { openIdentity } from './open-identity.ts'
import type { Bootstrap } from './open-observability.ts'
import { openPolicies } from './open-policies.ts'
import { openAuditLog, openSinks, type Retention } from '../../audit/index.ts'
import { type Upstreams, readUpstreamOptions, createUpstreams } from '../upstream/upstreams.ts'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { openKey } from '../../lib/index.ts'
import { version } from '../../version.ts'
import {
  createAuditObserver,
  createSinkObserver,
  createSyncObserver,
  exportAudit,
  exportCertificate,
  exportSinks,
  type Metrics,
} from '../../observability/index.ts'
import type { Upstream } from '../upstream/upstream.ts'
import {
  createLimits,
  createLoadShedder,
  FairCapacity,
  openSharedLimits,
  poolNames,
} from '../../limits/index.ts'
import { RequestQueue } from '../../http1/index.ts'
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
  const { folder } = settings.audit
  let changeTracker: ChangeTracker | undefined
  const { auditLog, sinks } = await openAudit(observability, () => changeTracker?.listInDoubtIntents())
  const policies = await openPolicies(observability, auditLog)
  const authenticator = await openIdentity(observability, staticKey, auditLog)
  const { assertion } = settings.identity
  const assertions = assertion && (await openAssertionSigner(assertion, Date.now))
  const upstreams = await openUpstreams(observability, assertions)
  changeTracker = await startChangeTracker({
    audit: auditLog,
    folder,
    upstreams,
    metrics,
    log,
    times: tuning.resolution,
  })
  closers.push(() => changeTracker.close())
  // The segments that unresolved changes need are known only now.
  auditLog.prune()
  const limiting = await openLimits(observability, upstreams)
  const refusals = createRefusalRecorder(auditLog)
  closers.push(() => refusals.close())
  const { limits, listing } = settings
  const observer = createRequestObserver(metrics, gatewayLog, refusals, traces)
  // Tokens and ids stay valid after a restart.
  const tokenSecret = await openKey(listing?.tokenKeyFile, join(folder, 'token-key'))
  const pipeline: Pipeline = {
    findDocument: createDocumentFinder(assertions?.jwks, basePath, upstreams.extraOperations),
    findRoute: cacheRoutes(createRouteFinder(upstreams, basePath, settings.databases)),
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
    observer,
    pageTokens: createPageTokens(tokenSecret),
    sealedIds: createSealedIds(tokenSecret),
  }
  const handler = createRequestHandler(pipeline, observer, { ...clientBounds, ...tuning.clients })
  const console: Omit<ConsoleSource, 'checks'> = {
    upstreams: () => upstreams.all.map(describeUpstream),
    policies: policies.current,
    async policiesLoadedAt() {
      const { values } = await metrics.policy_last_reload_success_timestamp_seconds.get()
      return values[0]?.value ?? 0
    },
    vocabulary: createSettingsVocabulary(settings).options,
    audit: auditLog,
    auditFolder: folder,
    sinks,
  }
  return {
    pipeline,
    handler,
    observer,
    limiting,
    checks: createReadinessChecks(auditLog, policies, authenticator, upstreams.all, files),
    console,
  }
}

function describeUpstream({ name, origin, namespaces, health, slots }: Upstream): Fact {
  const { isHealthy, circuit } = health
  const all = poolNames.map((pool) => slots[pool])
  const active = all.reduce((sum, { used }) => sum + used, 0)
  const waiting = all.reduce((sum, { queue }) => sum + queue.used, 0)
  const state = `${isHealthy ? 'healthy' : 'unhealthy'}${circuit === 'open' ? ', circuit open' : ''}`
  const objects = namespaces?.map(formatIdentifierText).join(', ') ?? 'all other objects'
  const text = `${origin}: ${state}, ${active} active and ${waiting} pending requests, serves ${objects}`
  return [name, text, isHealthy && circuit === 'closed']
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
  { settings, tuning, closers, metrics, log, outbound }: Bootstrap,
  assertions: AssertionSigner | undefined,
): Promise<Upstreams> {
  const options = await Promise.all(
    settings.upstreams.map(async (upstream) => ({
      ...(await readUpstreamOptions(upstream, outbound, (certificate) =>
        exportCertificate(metrics, certificate, upstream.name),
      )),
      bounds: tuning.upstream,
      assertions,
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

function exportUpstreams(metrics: Metrics, upstreams: readonly Upstream[]): void {
  const ofEach = (read: (upstream: Upstream) => number) => () =>
    upstreams.map((each) => [{ upstream: each.name }, read(each)] as const)
  metrics.upstream_healthy(ofEach(({ health }) => (health.isHealthy ? 1 : 0)))
  metrics.upstream_credential_refused(ofEach(({ health }) => (health.isCredentialRefused ? 1 : 0)))
  metrics.upstream_connections(ofEach(({ client }) => client.connectionCount()))
  metrics.upstream_circuit_breaker_state(() =>
    upstreams.flatMap(({ name: upstream, health }) =>
      ['closed', 'open'].map((state) => [{ upstream, state }, health.circuit === state ? 1 : 0] as const),
    ),
  )
  const ofEachPool = (read: (slots: ConnectionSlots) => number) => () =>
    upstreams.flatMap(({ name: upstream, slots }) =>
      poolNames.map((pool) => [{ upstream, pool }, read(slots[pool])] as const),
    )
  metrics.upstream_active_requests(ofEachPool((slots) => slots.used))
  metrics.upstream_max_active_requests(ofEachPool(({ capacity }) => capacity))
  metrics.upstream_pending_requests(ofEachPool(({ queue }) => queue.used))
  metrics.upstream_max_pending_requests(ofEachPool(({ queue }) => queue.capacity))
}

/**
 * Opens the limits. Throws if a file of the settings is unusable; an unresponsive server of shared limits delays the
 * start only briefly.
 */
async function openLimits(
  { settings, tuning, closers, metrics, log, outbound }: Bootstrap,
  upstreams: Upstreams,
) {
  const { shared: sharing } = settings.limits
  const syncObserver = createSyncObserver(metrics, log)
  const shared =
    sharing && (await openSharedLimits(sharing, outbound, syncObserver, tuning.sharedLimitsTimeoutMs))
  closers.push(() => shared?.close())
  const limits = createLimits(settings.limits, shared?.createBuckets)
  await shared?.start()
  const maxConnections = await allowedConnections({ settings, log })
  // A quarter of the heap, and at least room for some of the largest.
  const maxBodyMemory = Math.max(getHeapStatistics().heap_size_limit / 4, 4 * settings.limits.maxJsonBytes)
  const bodyMemory = new FairCapacity(tuning.maxJsonMemoryBytes ?? Math.floor(maxBodyMemory))
  metrics.json_memory_bytes(() => bodyMemory.used)
  metrics.max_json_memory_bytes(() => bodyMemory.capacity)
  const requestQueue = new RequestQueue()
  const shedding = createLoadShedder(requestQueue, upstreams.all, tuning.loadSheddingThresholdMs)
  closers.push(() => shedding.close())
  metrics.load_shed_ratio(() => shedding.shedRatios().map(({ ratio, ...labels }) => [labels, ratio]))
  return {
    limits,
    activeRequests: new FairCapacity(maxConnections),
    bodyMemory,
    shedding,
    /** Requests that were received and have not started. */
    requestQueue,
    maxConnections,
  }
}

/**
 * The maximum number of downstream connections: that of the settings, or fewer if the system limits open files (known on
 * Linux only). Half of them are for downstream connections: each request uses another one upstream.
 */
async function allowedConnections({ settings, log }: Pick<Bootstrap, 'settings' | 'log'>): Promise<number> {
  const { maxConnections: wanted } = settings.limits
  const systemLimits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const files = Number(/^Max open files\s+(\d+)/m.exec(systemLimits)?.[1] ?? Infinity)
  const allowed = Math.min(wanted, Math.max(1, Math.floor(files / 2)))
  if (allowed < wanted)
    log.warn({ connections: allowed, wanted }, 'connection limit lowered: too few file descriptors')
  return allowed
}
