import { passThroughSchema } from '../../../src/config/pass-through-settings.ts'
import type { GatewayTuning } from '../../../src/gateway/bootstrap/gateway-tuning.ts'
import type { GatewaySettings } from '../../../src/config/gateway-settings.ts'
import type { GatewaySetup, TestedGateway } from './open-gateway.ts'
import { startGatewayBefore } from './running-gateway.ts'
import { startRecordingUpstream, type RecordingUpstream } from './recording-upstream.ts'
import { onTestFinished } from 'vitest'

interface GatewayWithRoute {
  readonly gateway: TestedGateway
  /** The application behind the route. */
  readonly application: RecordingUpstream
  readonly catalog: RecordingUpstream
}

interface RouteSetup {
  readonly route?: object
  readonly tuning?: GatewayTuning['passThrough']
  readonly listen?: Partial<GatewaySettings['listen']>
  readonly adjust?: GatewaySetup['adjust']
  readonly users?: readonly string[]
}

/** The setup of a gateway with one route, `/ui`, which `dev` may use. */
export function withRoute(
  upstream: string,
  { route, tuning, listen, adjust, users }: RouteSetup = {},
): GatewaySetup {
  const passThrough = passThroughSchema.parse([
    { prefix: '/ui', upstream, allow: { users: ['dev'] }, ...route },
  ])
  return {
    ...(users && { users }),
    tuning: { passThrough: tuning },
    adjust: (settings, folder) => {
      const changed = { ...settings, passThrough, listen: { ...settings.listen, ...listen } }
      return adjust?.(changed, folder) ?? changed
    },
  }
}

/** Starts an application, a catalog, and a gateway with a route to `/console` of the application. */
export async function startGatewayWithRoute(setup: RouteSetup = {}): Promise<GatewayWithRoute> {
  const application = await startRecordingUpstream()
  onTestFinished(() => application.close())
  const catalog = await startRecordingUpstream()
  onTestFinished(() => catalog.close())
  const gateway = await startGatewayBefore(catalog.url, withRoute(`${application.url}/console`, setup))
  return { gateway, application, catalog }
}
