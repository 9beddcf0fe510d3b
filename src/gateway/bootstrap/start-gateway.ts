import type { SecureContextOptions } from 'node:tls'
import type { GatewaySettings } from '../../config/gateway-settings.ts'
import type { TlsSettings } from '../../config/listen-settings.ts'
import type { StaticKey } from '../../identity/api-keys/api-keys.ts'
import { ClosingStack } from '../../lib/async/closing-stack.ts'
import type { FileFollower } from '../../lib/fs/file-follower.ts'
import { reloadFiles } from '../../lib/fs/reload.ts'
import type { ListenerOptions } from '../../listener/listener.ts'
import { listServerCertificateFiles, readServerCertificates } from '../../lib/tls/server-certificates.ts'
import { clientBounds } from '../bounds.ts'
import { createGatewayServer } from '../gateway-server.ts'
import type { GatewayTuning } from './gateway-tuning.ts'
import { openAdmin } from './open-admin.ts'
import { openGateway } from './open-gateway.ts'
import { openObservability } from './open-observability.ts'

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
    const { listen, limits, timeouts } = settings
    const scheme = listen.tls === undefined ? 'http' : 'https'
    const { basePath = '' } = listen
    const gateway = await openGateway(observability, { scheme, basePath, staticKey })
    const { handler, observer, limiting, certificates } = gateway
    const tls =
      listen.tls &&
      (await openCertificates(listen.tls, observability.files, (context) => {
        server.setCertificates(context)
        certificates.setListener(context.cert)
      }))
    certificates.setListener(tls?.context.cert)
    let isReadinessAsked = false
    const server = createGatewayServer({
      handler,
      observer,
      abortUpstream: () => gateway.pipeline.upstreams.close(),
      listen,
      limits: { ...limits, maxConnections: limiting.maxConnections },
      timeouts,
      bounds: { ...clientBounds, ...tuning?.clients },
      isReadinessAsked: () => isReadinessAsked,
      scheduler: limiting.requestQueue,
      tls,
    })
    const checks = [{ name: 'gateway', findProblem: server.findProblem }, ...gateway.checks]
    let url: string | undefined
    const shown = gateway.createConsole?.(checks, () => url)
    const adminUrl = await openAdmin(observability, checks, shown, () => {
      isReadinessAsked = true
    })
    closers.push(() => server.close())
    url = await server.listen(listen)
    return { url, adminUrl, reload: reloadFiles, close: () => closers.close() }
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
