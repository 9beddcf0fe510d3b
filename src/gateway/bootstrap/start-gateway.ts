import type { SecureContextOptions } from 'node:tls'
import type { GatewaySettings, TlsSettings } from '../../config/index.ts'
import type { StaticKey } from '../../identity/index.ts'
import {
  ClosingStack,
  createAddressMatcher,
  type FileFollower,
  formatAuthority,
  listServerCertificateFiles,
  readServerCertificates,
  reloadFiles,
} from '../../lib/index.ts'
import {
  createListener,
  type Listener,
  type ListenerOptions,
  shutDownGracefully,
} from '../../listener/index.ts'
import { clientBounds, maxHeadBytes, type ClientBounds } from '../bounds.ts'
import { createRequestErrorResponse } from '../error-response.ts'
import type { PassThroughServer } from '../pass-through/pass-through-server.ts'
import { type GatewayTuning, openObservability, type Bootstrap } from './open-observability.ts'
import { openGateway, type OpenedGateway } from './open-gateway.ts'
import { addConsole, type ConsoleSource } from '../../console/index.ts'
import {
  createAdminServer,
  exportCertificate,
  exportReadiness,
  listen,
  type ReadinessCheck,
} from '../../observability/index.ts'
import { collectDefaultMetrics, Counter, Registry } from 'prom-client'

export interface GatewayOptions {
  readonly settings: GatewaySettings
  /** The development key, in memory only. */
  readonly staticKey?: StaticKey
  readonly tuning?: GatewayTuning
}

/** A gateway that serves. */
export interface RunningGateway {
  readonly url: string
  readonly adminUrl: string
  /** Undefined without pass-through routes. */
  readonly passThroughUrl?: string | undefined
  /** Reloads all watched files, and logs each result. */
  readonly reload: () => Promise<void>
  /** Drains requests, completes the audit log, and closes everything. Further calls return the same promise. */
  readonly close: () => Promise<void>
}

/**
 * Starts a gateway. Throws for unusable settings or files before the first request is accepted; everything opened until
 * then is closed.
 */
export async function startGateway({ settings, staticKey, tuning }: GatewayOptions): Promise<RunningGateway> {
  const closers = new ClosingStack()
  try {
    const observability = await openObservability(settings, closers, tuning)
    const { listen, timeouts } = settings
    const { basePath = '', host, port } = listen
    const scheme = listen.tls === undefined ? 'http' : 'https'
    const gateway = await openGateway(observability, scheme, basePath, staticKey)
    const tls =
      listen.tls &&
      (await openCertificates(listen.tls, observability.files, (context) => {
        listener.setCertificates(context)
        passThrough?.setCertificates(context)
        exportCertificate(observability.metrics, context.cert)
      }))
    exportCertificate(observability.metrics, tls?.context.cert)
    let isReadinessAsked = false
    const bounds = { ...clientBounds, ...tuning?.clients }
    let passThrough: PassThroughServer | undefined
    if (settings.passThrough !== undefined) {
      // A gateway without pass-through routes does not load the proxy.
      const { openPassThrough } = await import('../pass-through/pass-through-server.ts')
      passThrough = await openPassThrough(
        settings,
        settings.passThrough,
        gateway,
        observability.outbound,
        tls,
      )
    }
    const listener = openListener(gateway, settings, bounds, tls)
    let problem: string | undefined = 'the gateway is starting'
    const checks = [{ name: 'gateway', findProblem: () => problem }, ...gateway.checks]
    let url: string | undefined
    const shown = gateway.console && { ...gateway.console, checks }
    const adminUrl = await openAdmin(observability, checks, shown, () => {
      isReadinessAsked = true
    })
    closers.push(async () => {
      problem = 'the gateway is shutting down'
      // Something decides by the readiness where to send requests, and needs time to notice.
      const delayMs = isReadinessAsked ? bounds.drainDelayMs : 0
      const served = shutDownGracefully({
        server: listener,
        drainDelayMs: listener.isListening ? delayMs : 0,
        graceMs: timeouts.drainTimeoutMs,
        isProcessing: gateway.handler.isProcessing,
        abort: () => gateway.pipeline.upstreams.close(),
        onGraceExpired: gateway.observer.requestsAborted,
      })
      await Promise.all([served, passThrough?.close(delayMs)])
    })
    url = `${scheme}://${formatAuthority(host, await listener.listen({ host, port }))}${basePath}`
    problem = undefined
    const passThroughUrl = await passThrough?.listen()
    return { url, adminUrl, passThroughUrl, reload: reloadFiles, close: () => closers.close() }
  } catch (error) {
    await closers.close()
    throw error
  }
}

function openListener(
  { handler, observer, limiting }: OpenedGateway,
  { listen, limits, timeouts }: GatewaySettings,
  bounds: ClientBounds,
  tls: ListenerOptions['tls'],
): Listener {
  const options = {
    maxHeadBytes,
    maxConnections: limiting.maxConnections,
    maxConnectionsPerAddress: limits.maxConnectionsPerAddress,
    timeouts: { ...timeouts, ...bounds },
    scheduler: limiting.requestQueue,
    tls,
    isTrustedProxy: createAddressMatcher(listen.trustedProxies),
  }
  return createListener(options, {
    onRequest: handler.onRequest,
    onConnectionError: observer.connectionRejected,
    errorResponse: createRequestErrorResponse,
  })
}

/**
 * Reads the certificates of the listener, and follows their files, which may be written one after the other: until they
 * match, the last valid ones stay in force.
 */
async function openCertificates(
  settings: TlsSettings,
  { follow }: FileFollower,
  onChange: (context: SecureContextOptions) => void,
): Promise<NonNullable<ListenerOptions['tls']>> {
  const certificates = await follow({
    setting: 'listen.tls',
    files: listServerCertificateFiles(settings),
    read: () => readServerCertificates(settings),
    onChange,
  })
  return { clientCertificate: settings.clientAuth, context: certificates.current }
}

/**
 * Opens the admin port with metrics, health and, given `console`, the console. `onReadinessAsked` is called for each
 * request for `/readyz`. Resolves with the URL of the port.
 */
async function openAdmin(
  { settings, closers, metrics }: Bootstrap,
  checks: readonly ReadinessCheck[],
  console: ConsoleSource | undefined,
  onReadinessAsked: () => void,
): Promise<string> {
  const registries = [getProcessMetrics(), metrics.registry]
  exportReadiness(metrics, checks)
  const admin = createAdminServer(registries, checks, settings.admin, onReadinessAsked)
  closers.push(() => admin.close())
  if (console !== undefined) await addConsole(admin, console)
  return listen(admin, settings.admin)
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
