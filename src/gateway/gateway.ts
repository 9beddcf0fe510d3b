import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { openAuditLog, type AuditLog } from '../audit/log.ts'
import { auditOptions } from '../audit/settings.ts'
import { openSinks, type Sinks } from '../audit/sinks/open-sinks.ts'
import type { GatewaySettings } from '../config.ts'
import type { StaticKey } from '../identity/api-keys.ts'
import { openAssertions } from '../identity/assertions.ts'
import { createAuthenticator, type Authenticator } from '../identity/authenticate.ts'
import { readPepper } from '../identity/pepper.ts'
import { createAdminServer, type ReadinessCheck } from '../telemetry/admin-server.ts'
import { createLog, type Logger } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { version } from '../version.ts'
import { callerHeadersFor } from './caller-headers.ts'
import { followCertificates, readCertificates } from './listener-certificates.ts'
import { logAuditNotes, observeAuditHead } from './observe-audit.ts'
import { followChanges } from './follow-changes.ts'
import { observeGateway } from './observe.ts'
import { observeSinks, sinkObserver } from './observe-sinks.ts'
import { openPolicies } from './open-policies.ts'
import { observeUpstreams } from './observe-upstreams.ts'
import { connectionLimit } from './open-files.ts'
import { createPageTokens, readPageTokenSecret } from './page-token.ts'
import { recordRefusedCredentials } from './refused-credentials.ts'
import { createGatewayServer } from './server.ts'
import { readUpstreamFiles } from './upstream-files.ts'
import { openUpstreams, type Upstreams } from './upstreams.ts'

/** What a gateway is started with. */
export interface GatewayOptions {
  readonly settings: GatewaySettings
  /** The key of development, held in memory only. */
  readonly staticKey?: StaticKey
}

/** A gateway that serves. */
export interface RunningGateway {
  readonly url: string
  readonly adminUrl: string
  /** Finishes the requests under way, makes the audit log complete, and frees everything. */
  readonly close: () => Promise<void>
}

/**
 * Starts a gateway: opens the audit log, reads keys and policies, and listens. Whatever is wrong with the settings
 * or the files they name is thrown before the first request is taken, and what was opened is closed again.
 */
export async function startGateway({ settings, staticKey }: GatewayOptions): Promise<RunningGateway> {
  const log = createLog(settings.log.level)
  const metrics = createMetrics()
  const opened: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const step of opened.splice(0).toReversed()) await step()
  }
  try {
    const sinks = await openAuditSinks(settings, metrics, log)
    opened.push(() => sinks.close())
    const audit = await openAudit(settings, metrics, log, sinks)
    opened.push(() => audit.close())
    sinks.start(() => audit.durableEnd())
    observeAuditHead(metrics.registry, audit)
    const policies = await openPolicies(settings.policies, { metrics, log, audit })
    opened.push(() => policies.close())
    const authenticator = await openIdentity(settings, staticKey, metrics, log, audit)
    opened.push(() => authenticator.close())
    const { assertion } = settings.identity
    const assertions = assertion && (await openAssertions(assertion, Date.now))
    const upstreams = openUpstreams(
      await Promise.all(
        settings.upstreams.map(async (upstream) => ({
          ...(await readUpstreamFiles(upstream)),
          callerHeaders: callerHeadersFor(upstream.name, upstream.identity, assertions),
        })),
      ),
    )
    opened.push(() => upstreams.close())
    observeUpstreams(metrics.registry, upstreams.all)
    const changes = await followChanges({
      audit,
      settings: settings.audit,
      upstreams: upstreams.all,
      registry: metrics.registry,
      log,
    })
    opened.push(() => changes.close())
    const credentials = recordRefusedCredentials(audit)
    opened.push(() => credentials.close())
    const { listen: where, limits, timeouts, listing } = settings
    const server = createGatewayServer({
      keySet: assertions?.keySet,
      authenticator,
      policies,
      audit,
      tracking: changes.tracking,
      upstreams,
      pageTokens: createPageTokens(listing && (await readPageTokenSecret(listing.tokenKeyFile))),
      dialects: new Set(['catalog', ...settings.dialects]),
      bodyLimits: limits,
      maximumHeaders: limits.headerCount,
      limits: { ...limits, connections: await allowedConnections(settings, log) },
      timeouts,
      tls: where.tls && { settings: where.tls, context: await readCertificates(where.tls) },
      telemetry: observeGateway(metrics, log, audit, credentials),
    })
    const admin = createAdminServer(metrics.registry, [
      { name: 'gateway', problem: server.problem },
      ...readiness(audit, upstreams),
    ])
    opened.push(() => admin.close())
    const adminUrl = await listen(admin, settings.admin)
    opened.push(() => server.close())
    const url = await server.listen(where)
    if (where.tls !== undefined) {
      const certificates = await followCertificates(server.http, where.tls, log)
      opened.push(() => certificates.close())
    }
    return { url, adminUrl, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Before the log, so that it removes nothing that they still need; closed after it, so that they take the end too. */
async function openAuditSinks({ audit }: GatewaySettings, metrics: Metrics, log: Logger): Promise<Sinks> {
  const sinks = await openSinks({
    folder: audit.folder,
    settings: audit.sinks,
    resource: { gateway: hostname(), software: version },
    observe: sinkObserver(metrics.registry, log),
  })
  observeSinks(metrics.registry, sinks)
  return sinks
}

function openAudit(
  { audit }: GatewaySettings,
  metrics: Metrics,
  log: Logger,
  sinks: Sinks,
): Promise<AuditLog> {
  const options = auditOptions(audit)
  return openAuditLog({
    ...options,
    retention: { ...options.retention, oldestNeeded: sinks.oldestNeeded },
    gateway: hostname(),
    software: version,
    observe: {
      flushed: (records, seconds) => {
        metrics.auditRecords.inc(records)
        metrics.auditFlushSeconds.observe(seconds)
        sinks.wake()
      },
      failed: () => metrics.auditFailures.inc(),
      dropped: () => metrics.auditDropped.inc(),
    },
    noted: logAuditNotes(log, audit.logHeads),
  })
}

async function openIdentity(
  settings: GatewaySettings,
  staticKey: StaticKey | undefined,
  metrics: Metrics,
  log: Logger,
  audit: AuditLog,
): Promise<Authenticator> {
  const { apiKeys, ...rest } = settings.identity
  let isOpen = false
  const authenticator = await createAuthenticator({
    ...rest,
    ...(staticKey && { staticKey }),
    ...(apiKeys && {
      apiKeys: {
        file: apiKeys.store,
        pepper: await readPepper(apiKeys.pepperFile),
        lastUsedFile: apiKeys.lastUsedFile,
      },
    }),
    report: ({ source, outcome, cause }) => {
      // That the keys are read for the first time is no reload.
      if (!isOpen && outcome === 'changed') return
      if (outcome === 'unwritten') {
        log.warn({ source, error: String(cause) }, 'keys or times of their last use not kept on disk')
        return
      }
      metrics.identityReloads.inc({ source, result: outcome === 'changed' ? 'success' : 'failure' })
      if (outcome === 'failed') {
        audit.reload({ what: 'keys', revision: source, details: { result: 'failure' } })
        log.error({ source, error: String(cause) }, 'keys not read: the last good ones stay in force')
      } else {
        audit.reload({ what: 'keys', revision: source })
        log.info({ source }, 'keys reloaded')
      }
    },
  })
  isOpen = true
  return authenticator
}

function readiness(audit: AuditLog, upstreams: Upstreams): readonly ReadinessCheck[] {
  return [
    {
      name: 'audit',
      problem: () =>
        audit.status().writable ? undefined : 'the audit log cannot be written: no change passes',
    },
    {
      name: 'upstreams',
      problem: async () => {
        await Promise.all(upstreams.all.map(({ health }) => health.known))
        return upstreams.all.some(({ health }) => health.healthy()) ? undefined : 'none can be reached'
      },
    },
  ]
}

async function listen(
  server: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> {
  await server.listen({ host, port })
  const { port: bound } = server.server.address() as AddressInfo
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
}

async function allowedConnections({ limits, upstreams }: GatewaySettings, log: Logger): Promise<number> {
  const toUpstreams = upstreams.reduce((sum, { maximumConnections }) => sum + maximumConnections, 0)
  const allowed = await connectionLimit(limits.connections, toUpstreams)
  if (allowed < limits.connections) {
    const wanted = limits.connections
    log.warn({ connections: allowed, wanted }, 'the limit of open files allows fewer connections')
  }
  return allowed
}
