import type { SecureContextOptions } from 'node:tls'
import type { Registry } from 'prom-client'
import type { GatewaySettings } from '../../config.ts'
import type { StaticKey } from '../../identity/api-keys.ts'
import { openAssertions } from '../../identity/assertions.ts'
import { reloadFiles } from '../../identity/reload.ts'
import { ClosingStack } from '../../lib/async/closing-stack.ts'
import type { Connection } from '../../limits/shared/connection.ts'
import type { ReadinessCheck } from '../../telemetry/readiness.ts'
import type { FollowedChanges } from '../changes/follow-changes.ts'
import { createDocuments } from '../documents.ts'
import { readServerCertificates } from '../../lib/tls/server-certificates.ts'
import { watchCertificates } from '../watch-certificates.ts'
import { createPageTokens, readPageTokenSecret } from '../listing/page-token.ts'
import { observeGateway } from '../observe/observe.ts'
import { observeCertificates } from '../observe/observe-certificates.ts'
import { recordForConsole } from '../observe/observe-console.ts'
import { readinessOf } from '../observe/readiness.ts'
import { recordRefusedCredentials } from '../observe/refused-credentials.ts'
import { reportRequests } from '../observe/report-requests.ts'
import { createGatewayServer } from '../server.ts'
import { cacheRoutes, routesTo } from '../stages/match.ts'
import { openAdmin } from './open-admin.ts'
import { openAudit } from './open-audit.ts'
import { openChanges } from './open-changes.ts'
import { openIdentity } from './open-identity.ts'
import { openLimits } from './open-limits.ts'
import { openObservability } from './open-observability.ts'
import { openPolicies } from './open-policies.ts'
import { openUpstreams } from './open-upstreams.ts'

/** Used by `startGateway`. */
export interface GatewayOptions {
  readonly settings: GatewaySettings
  /** The development key, in memory only. */
  readonly staticKey?: StaticKey
  /** Present in one of several processes that share a port. */
  readonly worker?: WorkerPart
}

/** How a worker takes part in a gateway of several processes. */
export interface WorkerPart {
  /** URL of the admin port, which another process has. */
  readonly adminUrl: string
  /** Shared, so that every worker accepts the page tokens of the others. */
  readonly pageTokenSecret: Uint8Array
  /** Counts limits for all workers. */
  readonly charge: Connection['charge']
  /** Receives what the admin port shows. */
  readonly follow: (registries: () => readonly Registry[], checks: readonly ReadinessCheck[]) => void
}

/** A gateway that serves. */
export interface RunningGateway {
  readonly url: string
  readonly adminUrl: string
  /** Reads all watched files again, and logs the result of each. */
  readonly reload: () => Promise<void>
  /** Drains, completes the audit log, and closes everything; further calls return the same promise. */
  readonly close: () => Promise<void>
}

/**
 * Starts a gateway. Throws for settings, and files that they name, which cannot be used, before the first request is
 * accepted; everything opened until then is closed.
 */
export async function startGateway({ settings, staticKey, worker }: GatewayOptions): Promise<RunningGateway> {
  const closers = new ClosingStack()
  try {
    const bootstrap = await openObservability(settings, closers)
    const { metrics, log, gatewayLog, traces } = bootstrap
    const recorder = settings.admin.console ? recordForConsole() : undefined
    let changes: FollowedChanges | undefined
    const { auditLog, sinks } = await openAudit(bootstrap, () => changes?.lookedFor())
    const policies = await openPolicies(bootstrap, auditLog, recorder?.policies)
    const authenticator = await openIdentity(bootstrap, staticKey, auditLog)
    const { assertion } = settings.identity
    const assertions = assertion && (await openAssertions(assertion, Date.now))
    const certificates = observeCertificates(metrics.registry)
    const upstreams = await openUpstreams(bootstrap, assertions, certificates)
    const { tracking } = (changes = await openChanges(bootstrap, auditLog, upstreams.all))
    const limiting = await openLimits(bootstrap, upstreams, worker?.charge)
    const credentials = recordRefusedCredentials(auditLog)
    closers.push(() => credentials.close())
    const requests = reportRequests(gatewayLog, settings, traces)
    const report = recorder?.recording(requests) ?? requests
    const { listen, limits, timeouts, listing } = settings
    const tls = listen.tls && { settings: listen.tls, context: await readServerCertificates(listen.tls) }
    certificates.listener(tls?.context.cert)
    const server = createGatewayServer({
      pipeline: {
        findDocument: createDocuments(assertions?.keySet),
        findRoute: cacheRoutes(routesTo(upstreams)),
        dialects: new Set(['catalog', ...settings.dialects]),
        maximumHeaders: limits.maxHeaderCount,
        authenticator,
        failedAuthentications: limiting.limits.authentications,
        policies,
        ...limiting,
        bodyLimits: limits,
        upstreams,
        auditLog,
        tracking,
        pageTokens: createPageTokens(
          listing ? await readPageTokenSecret(listing.tokenKeyFile) : worker?.pageTokenSecret,
        ),
      },
      listener: {
        limits: { ...limits, maxConnections: limiting.maxConnections },
        timeouts,
        scheduler: limiting.requestQueue,
        tls,
      },
      limits,
      telemetry: observeGateway(metrics, log, auditLog, credentials, report, settings.metrics?.namespaces),
    })
    const checks = [
      { name: 'gateway', problem: server.problem },
      ...readinessOf({ audit: auditLog, policies, authenticator, upstreams, shared: limiting.shared }),
    ]
    const shown = { checks, upstreams: upstreams.all, policies, audit: auditLog, sinks }
    const console = recorder?.source({ ...shown, auditFolder: settings.audit.folder })
    const adminUrl = await openAdmin(bootstrap, checks, console, worker)
    closers.push(() => server.close())
    const url = await server.listen(listen)
    if (tls !== undefined) {
      const onChange = (context: SecureContextOptions): void => {
        server.setCertificates(context)
        certificates.listener(context.cert)
      }
      const followed = await watchCertificates({ ...tls, log, onChange })
      closers.push(() => followed.close())
    }
    return { url, adminUrl, reload: reloadFiles, close: () => closers.close() }
  } catch (error) {
    await closers.close()
    throw error
  }
}
