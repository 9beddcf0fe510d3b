import type { SecureContextOptions } from 'node:tls'
import type { Registry } from 'prom-client'
import type { GatewaySettings } from '../config.ts'
import { addConsole } from '../console/console.ts'
import type { StaticKey } from '../identity/api-keys.ts'
import { openAssertions } from '../identity/assertions.ts'
import { reloadFiles } from '../identity/reload.ts'
import type { Connection } from '../limits/shared/connection.ts'
import { FairCapacity } from '../limits/fair-capacity.ts'
import { createBodyMemory } from '../limits/body-memory.ts'
import { createShedding } from '../limits/shedding.ts'
import { createAdminServer, listenOn } from '../telemetry/admin-server.ts'
import { openLog, type Logger } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { processMetrics } from '../telemetry/process-metrics.ts'
import { observeReadiness, problemsOf, type ReadinessCheck } from '../telemetry/readiness.ts'
import { version } from '../version.ts'
import { callerHeadersFor } from './upstream/caller-headers.ts'
import { readServerCertificates } from '../lib/tls/server-certificates.ts'
import { watchCertificates } from './watch-certificates.ts'
import { observeAuditHead, observeAuditState } from './observe/observe-audit.ts'
import { observeCertificates } from './observe/observe-certificates.ts'
import { observeIdentity } from './observe/observe-identity.ts'
import { followChanges, type FollowedChanges } from './changes/follow-changes.ts'
import { observeGateway } from './observe/observe.ts'
import { recordForConsole } from './observe/observe-console.ts'
import { observeBodyMemory } from './observe/observe-body-memory.ts'
import { observeShedding } from './observe/observe-shedding.ts'
import { openAudit, openAuditSinks } from './open-audit.ts'
import { openIdentity } from './open-identity.ts'
import { openLimits } from './open-limits.ts'
import { openPolicies } from './open-policies.ts'
import { linesLost } from './observe/observe-log.ts'
import { observeTraces } from './observe/observe-traces.ts'
import { observeUpstreams } from './observe/observe-upstreams.ts'
import { maxServerConnections } from '../http1/server/max-connections.ts'
import { RequestQueue } from '../http1/server/request-queue.ts'
import { aimsAt, rememberAims } from './match.ts'
import { createPageTokens, readPageTokenSecret } from './listing/page-token.ts'
import { readinessOf } from './observe/readiness.ts'
import { recordRefusedCredentials } from './observe/refused-credentials.ts'
import { reportRequests } from './observe/report-requests.ts'
import { createGatewayServer } from './server.ts'
import { readUpstreamFiles } from './upstream/upstream-files.ts'
import { openUpstreams } from './upstream/upstreams.ts'

/** What a gateway is started with. */
export interface GatewayOptions {
  readonly settings: GatewaySettings
  /** The key of development, held in memory only. */
  readonly staticKey?: StaticKey
  /** Where it is one of several processes that share a port. */
  readonly worker?: WorkerPart
}

/** What a gateway has in common with others that share its port, each in a process of its own. */
export interface WorkerPart {
  /** The admin port, which another process has. */
  readonly adminUrl: string
  /** Page tokens of one are good for the others. */
  readonly pageTokenSecret: Uint8Array
  /** Counts what callers take of limits for all of them. */
  readonly charge: Connection['charge']
  /** Takes what is to be told on the admin port, as often as it is asked for. */
  readonly follow: (registries: () => readonly Registry[], checks: readonly ReadinessCheck[]) => void
}

/** A gateway that serves. */
export interface RunningGateway {
  readonly url: string
  readonly adminUrl: string
  /** Reads all files again that are watched, also without a change, and logs what became of each. */
  readonly reload: () => Promise<void>
  /** Finishes the requests under way, makes the audit log complete, and frees everything; once, whoever asks again. */
  readonly close: () => Promise<void>
}

/**
 * Starts a gateway: opens the audit log, reads keys and policies, and listens. Whatever is wrong with the settings
 * or the files they name is thrown before the first request is taken, and what was opened is closed again.
 */
export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { settings, staticKey, worker } = options
  const metrics = createMetrics(version, settings.metrics)
  const gatewayLog = openLog(settings.log.level, linesLost(metrics.registry))
  const log = gatewayLog.logger
  const opened: (() => unknown)[] = [() => gatewayLog.close()]
  let closing: Promise<void> | undefined
  const closeOpened = async (): Promise<void> => {
    for (const step of opened.toReversed()) await step()
  }
  const close = (): Promise<void> => (closing ??= closeOpened())
  try {
    const traces = await openTraces(settings, metrics, log)
    opened.push(() => traces?.close())
    const sinks = await openAuditSinks(settings, metrics, log)
    opened.push(() => sinks.close())
    let changes: FollowedChanges | undefined
    const audit = await openAudit(settings, metrics, log, sinks, () => changes?.lookedFor())
    opened.push(() => audit.close())
    sinks.start(() => audit.durableEnd())
    observeAuditHead(metrics.registry, audit)
    observeAuditState(metrics.registry, audit)
    const recorder = settings.admin.console ? recordForConsole() : undefined
    const follower = recorder?.policies
    const policies = await openPolicies(settings.policies, { metrics, log, audit, follower })
    opened.push(() => policies.close())
    const authenticator = await openIdentity(settings, staticKey, metrics, log, audit)
    opened.push(() => authenticator.close())
    observeIdentity(metrics.registry, authenticator)
    const { assertion } = settings.identity
    const assertions = assertion && (await openAssertions(assertion, Date.now))
    const upstreamOptions = await Promise.all(
      settings.upstreams.map(async (upstream) => ({
        ...(await readUpstreamFiles(upstream)),
        callerHeaders: callerHeadersFor(upstream.name, upstream.identity, assertions),
      })),
    )
    const observed = observeCertificates(metrics.registry)
    for (const { name, tls } of upstreamOptions) observed.upstream(name, tls.cert)
    const upstreams = openUpstreams(upstreamOptions)
    opened.push(() => upstreams.close())
    observeUpstreams(metrics.registry, upstreams.all)
    const followed = await followChanges({
      audit,
      settings: settings.audit,
      upstreams: upstreams.all,
      registry: metrics.registry,
      log,
    })
    opened.push(() => followed.close())
    changes = followed
    audit.removeOld()
    const credentials = recordRefusedCredentials(audit)
    opened.push(() => credentials.close())
    const requests = reportRequests(gatewayLog, settings, traces)
    const report = recorder?.recording(requests) ?? requests
    const { listen: where, limits, timeouts, listing } = settings
    const { fairness, shared } = await openLimits(limits, metrics.registry, log, worker?.charge)
    opened.push(() => shared?.close())
    const connections = await allowedConnections(settings, log)
    const bodyMemory = createBodyMemory(limits.jsonMemoryBytes)
    observeBodyMemory(metrics.registry, bodyMemory)
    const requestQueue = new RequestQueue()
    const shedding = createShedding(limits.shedAfterMs, requestQueue, upstreams.all)
    opened.push(() => shedding.close())
    observeShedding(metrics.registry, shedding)
    const tls = where.tls && { settings: where.tls, context: await readServerCertificates(where.tls) }
    observed.listener(tls?.context.cert)
    const server = createGatewayServer({
      keySet: assertions?.keySet,
      authenticator,
      policies,
      fairness,
      activeRequests: new FairCapacity(connections, 1),
      shedding,
      audit,
      tracking: followed.tracking,
      findAim: rememberAims(aimsAt(upstreams)),
      upstreams,
      pageTokens: createPageTokens(
        listing ? await readPageTokenSecret(listing.tokenKeyFile) : worker?.pageTokenSecret,
      ),
      dialects: new Set(['catalog', ...settings.dialects]),
      bodyLimits: limits,
      bodyMemory,
      maximumHeaders: limits.headerCount,
      limits: { ...limits, connections },
      timeouts,
      scheduler: requestQueue,
      tls,
      telemetry: observeGateway(metrics, log, audit, credentials, report, settings.metrics?.namespaces),
    })
    const checks = [
      { name: 'gateway', problem: server.problem },
      ...readinessOf({ audit, policies, authenticator, upstreams, shared }),
    ]
    const registries = (): readonly Registry[] => [processMetrics(), metrics.registry]
    observeReadiness(metrics.registry, checks)
    worker?.follow(registries, checks)
    let adminUrl = worker?.adminUrl
    if (adminUrl === undefined) {
      const admin = createAdminServer(registries, () => problemsOf(checks))
      opened.push(() => admin.close())
      if (recorder) {
        const auditFolder = settings.audit.folder
        const parts = { checks, upstreams: upstreams.all, policies, audit, auditFolder, sinks }
        await addConsole(admin, recorder.source(parts))
      }
      adminUrl = await listenOn(admin, settings.admin)
    }
    opened.push(() => server.close())
    const url = await server.listen(where)
    if (tls !== undefined) {
      const onChange = (context: SecureContextOptions): void => {
        server.setCertificates(context)
        observed.listener(context.cert)
      }
      const certificates = await watchCertificates({ ...tls, log, onChange })
      opened.push(() => certificates.close())
    }
    return { url, adminUrl, reload: reloadFiles, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openTraces({ traces }: GatewaySettings, { registry }: Metrics, log: Logger) {
  const observer = observeTraces(registry, log)
  if (traces === undefined) return undefined
  // Loaded here, so that whoever has no traces does not carry the library in memory.
  const library = await import('../telemetry/traces.ts')
  return library.openTraces(traces, version, observer)
}

async function allowedConnections({ limits, upstreams }: GatewaySettings, log: Logger): Promise<number> {
  const toUpstreams = upstreams.reduce(
    (sum, { maximumConnections, maximumBulkConnections }) =>
      sum + maximumConnections + maximumBulkConnections,
    0,
  )
  const allowed = await maxServerConnections(limits.connections, toUpstreams)
  if (allowed < limits.connections) {
    const wanted = limits.connections
    log.warn({ connections: allowed, wanted }, 'the limit of open files allows fewer connections')
  }
  return allowed
}
