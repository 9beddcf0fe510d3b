import type { SecureContextOptions } from 'node:tls'
import type { GatewaySettings } from '../../config/gateway-settings.ts'
import type { StaticKey } from '../../identity/api-keys/api-keys.ts'
import { ClosingStack } from '../../lib/async/closing-stack.ts'
import { reloadFiles } from '../../lib/fs/reload.ts'
import { readServerCertificates } from '../../lib/tls/server-certificates.ts'
import { createGatewayServer } from '../gateway-server.ts'
import type { PassThrough } from '../pass-through/open-pass-through.ts'
import { openAdmin } from './open-admin.ts'
import { openGateway, type OpenedGateway } from './open-gateway.ts'
import { openObservability } from './open-observability.ts'
import { watchCertificates } from './watch-certificates.ts'
import type { WorkerOptions } from './worker-options.ts'

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
    const observability = await openObservability(settings, closers)
    const { listen, limits, timeouts } = settings
    const scheme = listen.tls === undefined ? 'http' : 'https'
    const { basePath = '' } = listen
    const gateway = await openGateway(observability, { scheme, basePath, staticKey, worker })
    const { handler, observer, limiting, certificates } = gateway
    const tls = listen.tls && { settings: listen.tls, context: await readServerCertificates(listen.tls) }
    certificates.setListener(tls?.context.cert)
    const passThrough = await openRoutes(settings, gateway, closers)
    const server = createGatewayServer({
      handler,
      observer,
      abortUpstream: () => gateway.pipeline.upstreams.close(),
      listener: {
        listen,
        limits: { ...limits, maxConnections: limiting.maxConnections },
        timeouts,
        scheduler: limiting.requestQueue,
        tls,
        ...(passThrough && { interceptor: passThrough }),
      },
    })
    const checks = [{ name: 'gateway', findProblem: server.findProblem }, ...gateway.checks]
    const adminUrl = await openAdmin(observability, checks, gateway.createConsole?.(checks), worker)
    closers.push(() => server.close())
    const url = await server.listen(listen)
    if (tls !== undefined) {
      const onChange = (context: SecureContextOptions): void => {
        server.setCertificates(context)
        certificates.setListener(context.cert)
      }
      const followed = await watchCertificates({ ...tls, log: observability.log, onChange })
      closers.push(() => followed.close())
    }
    return { url, adminUrl, reload: reloadFiles, close: () => closers.close() }
  } catch (error) {
    await closers.close()
    throw error
  }
}

/** Undefined without pass-through routes: a gateway without them does not load the proxy. */
async function openRoutes(
  { passThrough: routes, upstreams }: GatewaySettings,
  { pipeline: admission, handler, observer }: OpenedGateway,
  closers: ClosingStack,
): Promise<PassThrough | undefined> {
  if (routes.length === 0) return undefined
  const { openPassThrough } = await import('../pass-through/open-pass-through.ts')
  const catalogUrls = upstreams.map(({ url }) => url)
  const opened = await openPassThrough({ routes, catalogUrls, admission, handler, observer })
  closers.push(() => opened.close())
  return opened
}
