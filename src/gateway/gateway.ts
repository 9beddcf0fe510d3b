import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { openAuditLog, type AuditLog } from '../audit/log.ts'
import type { GatewaySettings } from '../config.ts'
import type { StaticKey } from '../identity/api-keys.ts'
import { createAuthenticator, type Authenticator } from '../identity/authenticate.ts'
import { readPepper } from '../identity/pepper.ts'
import { watchPolicies, type PolicySource } from '../policy/folder.ts'
import { createAdminServer, type ReadinessCheck } from '../telemetry/admin-server.ts'
import { createLog, type Logger } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { version } from '../version.ts'
import { observeGateway } from './observe.ts'
import { createGatewayServer } from './server.ts'
import { openUpstream, type Upstream } from './upstream.ts'

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

/** How long requests under way may take to end when the gateway closes. */
const closeGraceMs = 30_000

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
    const audit = await openAudit(settings, metrics)
    opened.push(() => audit.close())
    const policies = await openPolicies(settings, metrics, log, audit)
    opened.push(() => policies.close())
    const authenticator = await openIdentity(settings, staticKey, metrics, log, audit)
    opened.push(() => authenticator.close())
    const upstream = openUpstream(await upstreamSettings(settings))
    opened.push(() => upstream.pool.destroy())
    const server = createGatewayServer({
      authenticator,
      policies,
      audit,
      upstream,
      dialects: new Set(['catalog', ...settings.dialects]),
      maximumJsonBytes: settings.limits.jsonBytes,
      telemetry: observeGateway(metrics, log, audit, upstream.name),
    })
    opened.push(() => closeServer(server))
    const url = await listen(server, settings.listen)
    const admin = createAdminServer(metrics.registry, readiness(audit, upstream))
    opened.push(() => admin.close())
    const adminUrl = await listen(admin, settings.admin)
    return { url, adminUrl, close }
  } catch (error) {
    await close()
    throw error
  }
}

function openAudit(settings: GatewaySettings, metrics: Metrics): Promise<AuditLog> {
  return openAuditLog({
    folder: settings.audit.folder,
    gateway: hostname(),
    software: version,
    observe: {
      flushed: (records, seconds) => {
        metrics.auditRecords.inc(records)
        metrics.auditFlushSeconds.observe(seconds)
      },
      failed: () => metrics.auditFailures.inc(),
      dropped: () => metrics.auditDropped.inc(),
    },
  })
}

async function openPolicies(settings: GatewaySettings, metrics: Metrics, log: Logger, audit: AuditLog) {
  const announce = (revision: string): void => {
    metrics.policyRevision.reset()
    metrics.policyRevision.set({ revision }, 1)
  }
  const source: PolicySource = await watchPolicies(settings.policies.folder, {
    onReload: ({ revision }) => {
      metrics.policyReloads.inc({ result: 'success' })
      announce(revision)
      audit.reload({ what: 'policies', revision })
      log.info({ revision }, 'policies reloaded')
    },
    onError: (error) => {
      metrics.policyReloads.inc({ result: 'failure' })
      log.error({ error: String(error) }, 'policies not reloaded: the last good ones stay in force')
    },
  })
  announce(source.current().revision)
  return source
}

async function openIdentity(
  settings: GatewaySettings,
  staticKey: StaticKey | undefined,
  metrics: Metrics,
  log: Logger,
  audit: AuditLog,
): Promise<Authenticator> {
  const { apiKeys, issuers } = settings.identity
  let isOpen = false
  const authenticator = await createAuthenticator({
    issuers,
    ...(staticKey && { staticKey }),
    ...(apiKeys && { apiKeys: { file: apiKeys.store, pepper: await readPepper(apiKeys.pepperFile) } }),
    report: ({ source, outcome, cause }) => {
      // That the keys are read for the first time is no reload.
      if (!isOpen && outcome === 'changed') return
      metrics.identityReloads.inc({ source, result: outcome === 'changed' ? 'success' : 'failure' })
      if (outcome === 'failed') {
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

async function upstreamSettings({ upstream }: GatewaySettings) {
  const { certificateAuthority, credential, timeouts, ...rest } = upstream
  const value = credential?.file === undefined ? credential?.value : await readFile(credential.file, 'utf8')
  return {
    ...rest,
    certificateAuthority: certificateAuthority && (await readFile(certificateAuthority, 'utf8')),
    credentials: credential && { [credential.header]: (value ?? '').trim() },
    timeouts: { connect: timeouts.connectMs, answer: timeouts.answerMs, idle: timeouts.idleMs },
  }
}

function readiness(audit: AuditLog, upstream: Upstream): readonly ReadinessCheck[] {
  return [
    {
      name: 'audit',
      problem: () =>
        audit.status().writable ? undefined : 'the audit log cannot be written: no change passes',
    },
    {
      name: `upstream ${upstream.name}`,
      problem: async () =>
        upstream.pool.stats.connected > 0 || (await answers(upstream)) ? undefined : 'cannot be reached',
    },
  ]
}

/** Any answer shows that the upstream is there; which one does not matter. */
async function answers(upstream: Upstream): Promise<boolean> {
  try {
    const { body } = await upstream.pool.request({
      path: `${upstream.basePath}/v1/table`,
      method: 'GET',
      headersTimeout: 2_000,
    })
    await body.dump()
    return true
  } catch {
    return false
  }
}

async function listen(
  server: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> {
  await server.listen({ host, port })
  const { port: bound } = server.server.address() as AddressInfo
  return `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
}

async function closeServer(server: FastifyInstance): Promise<void> {
  const force = setTimeout(() => server.server.closeAllConnections(), closeGraceMs)
  await server.close()
  clearTimeout(force)
}
