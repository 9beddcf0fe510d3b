import { Pool } from 'undici'
import type { PassThroughSettings } from '../../config/pass-through-settings.ts'
import type { Principal } from '../../identity/principal.ts'
import { readTlsFiles } from '../../lib/tls/tls-files.ts'
import { createPassThroughPaths, type PassThroughPaths } from './pass-through-target.ts'

/** An open pass-through route. */
export interface PassThroughRoute {
  readonly settings: PassThroughSettings
  readonly paths: PassThroughPaths
  /** Scheme, host and port of the upstream. */
  readonly origin: string
  /** Connections to the upstream. Certificates are verified, and redirects are not followed. */
  readonly pool: Pool
}

/** Opens a route, and reads the files that its settings name. `catalogUrls` are those of the configured catalogs. */
export async function openPassThroughRoute(
  settings: PassThroughSettings,
  catalogUrls: readonly string[],
): Promise<PassThroughRoute> {
  const { prefix, serverName, maxConnections, timeouts } = settings
  const upstream = new URL(settings.upstream)
  const tls = await readTlsFiles(settings, `for the pass-through route ${prefix}`)
  const pool = new Pool(upstream.origin, {
    connections: maxConnections,
    connect: {
      ...tls,
      ...(serverName !== undefined && { servername: serverName }),
      rejectUnauthorized: true,
      timeout: timeouts.connectTimeoutMs,
    },
    headersTimeout: timeouts.responseHeadersTimeoutMs,
    // A stream of events may be silent for long.
    bodyTimeout: 0,
  })
  const catalogs = catalogUrls.map((url) => new URL(url))
  const paths = createPassThroughPaths(prefix, upstream, catalogs)
  return { settings, paths, origin: upstream.origin, pool }
}

/** Whether the rule of a route allows a caller. Only `anyone` includes the anonymous one. */
export function allows({ allow }: PassThroughSettings, principal: Principal): boolean {
  if (allow === 'anyone') return true
  if (principal.method === 'anonymous') return false
  const { users = [], groups = [], any = false } = allow
  return any || users.includes(principal.name) || groups.some((group) => principal.groups.has(group))
}
