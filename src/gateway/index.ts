/**
 * The gateway as a process (`startGateway`), and the parts that commands use, too: its upstreams, its own calls to them, and
 * the permissions that a request requires.
 */
import type { GatewayOptions } from './bootstrap/start-gateway.ts'

export { listHeadPermissions } from './authorization/list-required-permissions.ts'
export { upstreamBounds } from './bounds.ts'
export { listUpstreamTables, listUpstreamVersions } from './changes/list-upstream-versions.ts'
export { type OwnClient, openOwnClient, ownOperations } from './upstream/own-client.ts'
export { createUpstreams, readUpstreamOptions, type Upstreams } from './upstream/upstreams.ts'

/** Starts a gateway. Loaded when it is called: most commands start none. */
export async function startGateway(options: GatewayOptions) {
  const bootstrap = await import('./bootstrap/start-gateway.ts')
  return bootstrap.startGateway(options)
}
