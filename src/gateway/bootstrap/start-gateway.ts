import type { SecureContextOptions } from 'node:tls'
import type { GatewaySettings, TlsSettings } from '../../config/index.ts'
import type { StaticKey } from '../../identity/index.ts'
import {
  ClosingStack,
  createAddressMatcher,
  formatAuthority,
  listServerCertificateFiles,
  readServerCertificates,
  reloadFiles,
} from '../../lib/index.ts'
import { createListener, type ListenerOptions, shutDownGracefully } from '../../listener/index.ts'
import { clientBounds, maxHeadBytes } from '../bounds.ts'
import { createRequestErrorResponse } from '../error-response.ts'
import type { PassThroughServer } from '../pass-through/pass-through-server.ts'
import { type GatewayTuning, openObservability, type Bootstrap } from './open-observability.ts'
import { openGateway } from './open-gateway.ts'
import { addConsole } from '../../console/index.ts'
import { createAdminServer, exportCertificate, exportReadiness, listen } from '../../observability/index.ts'
import { collectDefaultMetrics, Counter, Registry } from 'prom-client'

export interface GatewayOptions {
  readonly settings: GatewaySettings
  /** The development key, in memory only. */
  readonly staticKey?: StaticKey
  readonly tuning?: GatewayTuning
}

/**
 * Starts a gateway. Throws for unusable settings or files before the first request is accepted; everything opened until
 * then is closed.
 */
export async function startGateway({ settings, staticKey, tuning }: GatewayOptions) {
  const closers = new ClosingStack()
  try {
    const observability = await openObservability(settings, closers, tuning)
    const { metrics, outbound } = observability
    const { basePath = '', host, port, tls: tlsSettings } = settings.listen
    const scheme = tlsSettings === undefined ? 'http' : 'https'
    const gateway = await openGateway(observability, scheme, basePath, staticKey)
    const tls =
      tlsSettings &&
      (await openCertificates(tlsSettings, observability, (context) => {
        listener.setCertificates(context)
        passThrough?.setCertificates(context)
      }))
    const bounds = { ...clientBounds, ...tuning?.clients }
    let passThrough: PassThroughServer | undefined
    if (settings.passThrough !== undefined) {
      // A gateway without pass-through routes does not load the proxy.
      const { openPassThrough } = await import('../pass-through/pass-through-server.ts')
      passThrough = await openPassThrough(settings, settings.passThrough, gateway, outbound, tls)
    }
    const { handler, observer, limiting } = gateway
    const options = {
      maxHeadBytes,
      maxConnections: limiting.maxConnections,
      maxConnectionsPerAddress: settings.limits.maxConnectionsPerAddress,
      timeouts: { ...settings.timeouts, ...bounds },
      scheduler: limiting.requestQueue,
      tls,
      isTrustedProxy: createAddressMatcher(settings.listen.trustedProxies),
    }
    const listener = createListener(options, {
      onRequest: handler.onRequest,
      onConnectionError: observer.connectionRejected,
      errorResponse: createRequestErrorResponse,
    })
    let problem: string | undefined = 'the gateway is starting'
    const checks = [{ name: 'gateway', findProblem: () => problem }, ...gateway.checks]
    exportReadiness(metrics, checks)
    let isReadinessProbed = false
    const registries = [getProcessMetrics(), metrics.registry]
    const admin = createAdminServer(registries, checks, settings.admin, () => {
      isReadinessProbed = true
    })
    closers.push(() => admin.close())
    if (settings.admin.console) await addConsole(admin, { ...gateway.console, checks })
    const adminUrl = await listen(admin, settings.admin)
    closers.push(async () => {
      problem = 'the gateway is shutting down'
      // Something decides by the readiness where to send requests, and needs time to notice.
      const delayMs = isReadinessProbed ? bounds.drainDelayMs : 0
      const served = shutDownGracefully({
        server: listener,
        drainDelayMs: listener.server.listening ? delayMs : 0,
        graceMs: settings.timeouts.drainTimeoutMs,
        isProcessing: handler.isProcessing,
        abort: () => gateway.pipeline.upstreams.close(),
        onGraceExpired: observer.requestsAborted,
      })
      await Promise.all([served, passThrough?.close(delayMs)])
    })
    const url = `${scheme}://${formatAuthority(host, await listener.listen({ host, port }))}${basePath}`
    problem = undefined
    return {
      url,
      adminUrl,
      /** Undefined without pass-through routes. */
      passThroughUrl: await passThrough?.listen(),
      /** Reloads all watched files, and logs each result. */
      reload: reloadFiles,
      /** Drains requests, completes the audit log, and closes everything. Further calls return the same promise. */
      close: () => closers.close(),
    }
  } catch (error) {
    await closers.close()
    throw error
  }
}

/**
 * Reads the certificates of the listener, and follows their files, which may be written one after the other: until they
 * match, the last valid ones stay in force.
 */
async function openCertificates(
  settings: TlsSettings,
  { files, metrics }: Bootstrap,
  onChange: (context: SecureContextOptions) => void,
): Promise<NonNullable<ListenerOptions['tls']>> {
  const certificates = await files.follow({
    setting: 'listen.tls',
    files: listServerCertificateFiles(settings),
    async read() {
      const context = await readServerCertificates(settings)
      exportCertificate(metrics, context.cert)
      return context
    },
    onChange,
  })
  return { clientCertificate: settings.clientAuth, context: certificates.current }
}

/** Default metrics of prom-client that promtool rejects by name. */
const misnamedMetrics = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

let registry: Registry | undefined

/** One registry for all gateways of a process, since prom-client cannot stop its event loop monitor. */
function getProcessMetrics(): Registry {
  if (registry !== undefined) return registry
  registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamedMetrics) registry.removeSingleMetric(name)
  let counted = 0
  const active = new Counter({
    name: 'nodejs_eventloop_active_seconds_total',
    help: 'Time in which the event loop was at work: its rate is the share of one core that it may use.',
    registers: [],
    collect() {
      const seconds = performance.eventLoopUtilization().active / 1000
      this.inc(Math.max(0, seconds - counted))
      counted = Math.max(counted, seconds)
    },
  })
  registry.registerMetric(active)
  return registry
}
