import type { WorkerOptions } from './worker-options.ts'
import type { SecureContextOptions } from 'node:tls'
import type { GatewaySettings } from '../../config/gateway-settings.ts'
import type { StaticKey } from '../../identity/api-keys/api-keys.ts'
import { openAssertionSigner } from '../../identity/assertion/assertions.ts'
import { reloadFiles } from '../../lib/fs/reload.ts'
import { ClosingStack } from '../../lib/async/closing-stack.ts'
import type { RunningChangeTracking } from '../changes/start-change-tracking.ts'
import { createDocumentFinder } from '../documents.ts'
import { readServerCertificates } from '../../lib/tls/server-certificates.ts'
import { watchCertificates } from './watch-certificates.ts'
import { createListingObserver } from '../listing/listing-observer.ts'
import { createPageTokens, readPageTokenSecret } from '../listing/page-tokens.ts'
import { createRequestObserver } from '../observability/request-observer.ts'
import { registerCertificateMetrics } from '../../observability/metrics/certificate-metrics.ts'
import { createConsoleRecorder } from '../observability/console-recorder.ts'
import { createReadinessChecks } from '../observability/gateway-readiness.ts'
import { createCredentialRefusalRecorder } from '../observability/credential-refusal-recorder.ts'
import { createRequestReporter } from '../observability/request-reporter.ts'
import { createHttp1GatewayServer } from '../http1-gateway-server.ts'
import { cacheRoutes, createRouteFinder } from '../stages/match.ts'
import { openAdmin } from './open-admin.ts'
import { openAudit } from './open-audit.ts'
import { openChanges } from './open-changes.ts'
import { openIdentity } from './open-identity.ts'
import { openLimits } from './open-limits.ts'
import { openObservability } from './open-observability.ts'
import { openPolicies } from './open-policies.ts'
import { openUpstreams } from './open-upstreams.ts'

export interface GatewayOptions {
  readonly settings: GatewaySettings
  /** The development key, in memory only. */
  readonly staticKey?: StaticKey
  /** Present if several processes share a port. */
  readonly worker?: WorkerOptions
}

/** A gateway that serves. */
export interface RunningGateway {
  readonly url: string
  readonly adminUrl: string
  /** Reloads all watched files, and logs each result. */
  readonly reload: () => Promise<void>
  /** Drains requests, completes the audit log, and closes everything. Further calls return the same promise. */
  readonly close: () => Promise<void>
}

/**
 * Starts a gateway. Throws for unusable settings or files before the first request is accepted; everything opened until
 * then is closed.
 */
export async function startGateway({ settings, staticKey, worker }: GatewayOptions): Promise<RunningGateway> {
  const closers = new ClosingStack()
  try {
    const bootstrap = await openObservability(settings, closers)
    const { metrics, log, gatewayLog, traces } = bootstrap
    const recorder = settings.admin.console ? createConsoleRecorder() : undefined
    let changes: RunningChangeTracking | undefined
    const { auditLog, sinks } = await openAudit(bootstrap, () => changes?.listInDoubtIntents())
    const policies = await openPolicies(bootstrap, auditLog, recorder?.policyFollower)
    const authenticator = await openIdentity(bootstrap, staticKey, auditLog)
    const { assertion } = settings.identity
    const assertions = assertion && (await openAssertionSigner(assertion, Date.now))
    const certificates = registerCertificateMetrics(metrics.registry)
    const upstreams = await openUpstreams(bootstrap, assertions, certificates)
    const { tracker: changeTracker } = (changes = await openChanges(bootstrap, auditLog, upstreams.all))
    const limiting = await openLimits(bootstrap, upstreams, worker?.charge)
    const credentials = createCredentialRefusalRecorder(auditLog)
    closers.push(() => credentials.close())
    const requests = createRequestReporter(gatewayLog, settings, traces)
    const report = recorder?.wrapReporter(requests) ?? requests
    const { listen, limits, timeouts, listing } = settings
    const tls = listen.tls && { settings: listen.tls, context: await readServerCertificates(listen.tls) }
    certificates.setListener(tls?.context.cert)
    const server = createHttp1GatewayServer({
      pipeline: {
        findDocument: createDocumentFinder(assertions?.jwks, listen.basePath),
        findRoute: cacheRoutes(createRouteFinder(upstreams, listen.basePath)),
        dialects: new Set(['catalog', ...settings.dialects]),
        maxHeaders: limits.maxHeaderCount,
        scheme: tls === undefined ? 'http' : 'https',
        authenticator,
        failedAuthentications: limiting.limits.failedAuthentications,
        policies,
        ...limiting,
        bodyLimits: limits,
        upstreams,
        auditLog,
        changeTracker,
        listingObserver: createListingObserver(metrics.registry, log),
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
      observer: createRequestObserver(
        metrics,
        log,
        auditLog,
        credentials,
        report,
        settings.metrics?.namespaces,
      ),
    })
    const checks = [
      { name: 'gateway', findProblem: server.findProblem },
      ...createReadinessChecks({
        audit: auditLog,
        policies,
        authenticator,
        upstreams,
        shared: limiting.shared,
      }),
    ]
    const shown = { checks, upstreams: upstreams.all, policies, audit: auditLog, sinks }
    const console = recorder?.createSource({ ...shown, auditFolder: settings.audit.folder })
    const adminUrl = await openAdmin(bootstrap, checks, console, worker)
    closers.push(() => server.close())
    const url = await server.listen(listen)
    if (tls !== undefined) {
      const onChange = (context: SecureContextOptions): void => {
        server.setCertificates(context)
        certificates.setListener(context.cert)
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
