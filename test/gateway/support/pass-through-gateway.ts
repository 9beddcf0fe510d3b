import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { buildConnector } from 'undici'
import { revokeKey } from '../../../src/identity/api-keys/key-store.ts'
import { listKeys } from '../../../src/identity/api-keys/key-store-file.ts'
import { reloadFiles } from '../../../src/lib/fs/follow-files.ts'
import { passThroughSchema } from '../../../src/config/pass-through-settings.ts'
import { connectClient, type GatewaySetup, type TestedGateway } from './open-gateway.ts'
import { startGatewayBefore } from './running-gateway.ts'
import { startRecordingUpstream, type RecordingUpstream } from './recording-upstream.ts'

/** The pass-through port of a gateway. */
type TestedPort = Pick<TestedGateway, 'url' | 'open' | 'send' | 'get' | 'post'>

interface GatewayWithRoute {
  readonly gateway: TestedGateway
  readonly port: TestedPort
  /** The application behind the route. */
  readonly application: RecordingUpstream
  readonly catalog: RecordingUpstream
}

interface RouteSetup extends Pick<GatewaySetup, 'users' | 'settings'> {
  /** Differences of the route `/ui`, which `dev` may use. */
  readonly route?: object
  readonly adjust?: GatewaySetup['adjust']
}

/** Starts an application, a catalog, and a gateway with a route to `/console` of the application. */
export async function startGatewayWithRoute({
  route,
  adjust,
  ...setup
}: RouteSetup = {}): Promise<GatewayWithRoute> {
  const [application, catalog] = await Promise.all([startRecordingUpstream(), startRecordingUpstream()])
  onTestFinished(() => application.close())
  onTestFinished(() => catalog.close())
  const gateway = await startGatewayBefore(catalog.url, {
    ...setup,
    adjust: (settings, folder) => {
      const usual = { prefix: '/ui', upstream: `${application.url}/console`, allow: { users: ['dev'] } }
      const passThrough = passThroughSchema.parse({ port: 0, routes: [{ ...usual, ...route }] })
      const changed = { ...settings, passThrough }
      return adjust?.(changed, folder) ?? changed
    },
  })
  return { gateway, port: connectToPort(gateway), application, catalog }
}

/** Starts a gateway with a route for `al`, whose key `revoke` revokes. */
export async function startGatewayWithRevocableKey(route: object = {}) {
  let store = ''
  const started = await startGatewayWithRoute({
    route: { allow: { users: ['al'] }, ...route },
    users: ['al'],
    adjust(settings, folder) {
      store = join(folder, 'keys.yaml')
      return settings
    },
  })
  async function revoke(): Promise<void> {
    for (const { id } of await listKeys(store)) await revokeKey(store, id)
    await reloadFiles()
  }
  return { ...started, revoke }
}

/** Sends requests with the keys of the gateway to its pass-through port. */
export function connectToPort(gateway: TestedGateway, tls: buildConnector.BuildOptions = {}): TestedPort {
  const { passThroughUrl: url = '' } = gateway
  const { close, ...port } = connectClient(url, (principal) => gateway.key(principal), tls)
  onTestFinished(close)
  return { url, ...port }
}
