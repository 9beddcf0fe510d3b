import { Pool } from 'undici'
import type { PassThroughSettings } from '../../config/pass-through-settings.ts'
import type { Principal } from '../../identity/principal.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { createUndiciConnector } from '../../lib/outbound/undici-connector.ts'
import { createConnectionSlots, type ConnectionSlots } from '../upstream/connection-slots.ts'
import { createChangeLimit, type AdmitChange } from './change-limit.ts'
import { createPassThroughPaths, type PassThroughPaths } from './pass-through-target.ts'

/** Requests that wait for a connection; one caller may have half of them. */
export interface PassThroughTuning {
  readonly maxPendingRequests: number
  readonly queueTimeoutMs: number
}

const defaultTuning: PassThroughTuning = { maxPendingRequests: 1_024, queueTimeoutMs: 10_000 }

const connectTimeoutMs = 5_000

/** An open pass-through route. */
export interface PassThroughRoute {
  readonly settings: PassThroughSettings
  readonly paths: PassThroughPaths
  /** Scheme, host and port of the upstream. */
  readonly origin: string
  /** Connections to the upstream. Certificates are verified, and redirects are not followed. */
  readonly pool: Pool
  /** Every request holds a slot, so the pool has a connection for each. */
  readonly slots: ConnectionSlots
  readonly admitChange: AdmitChange
}

/** Opens a route, and reads the files that its settings name. `catalogUrls` are those of the configured catalogs. */
export async function openPassThroughRoute(
  settings: PassThroughSettings,
  catalogUrls: readonly string[],
  outbound: Outbound,
  tuning: Partial<PassThroughTuning> = {},
): Promise<PassThroughRoute> {
  const { prefix, maxConnections, timeouts } = settings
  const { maxPendingRequests, queueTimeoutMs } = { ...defaultTuning, ...tuning }
  const upstream = new URL(settings.upstream)
  const opener = await outbound.openClient(`passThrough.${prefix}`, settings)
  const pool = new Pool(upstream.origin, {
    connections: maxConnections,
    connect: createUndiciConnector(opener, connectTimeoutMs),
    headersTimeout: timeouts.responseHeadersTimeoutMs,
    // A stream of events may be silent for long.
    bodyTimeout: 0,
  })
  const catalogs = catalogUrls.map((url) => new URL(url))
  const paths = createPassThroughPaths(prefix, upstream, catalogs)
  // As for bulk requests of catalogs: an application can hold a response for as long as it likes.
  const slots = createConnectionSlots({
    maxActive: maxConnections,
    maxHeldToFree: 1,
    maxPending: maxPendingRequests,
    queueTimeoutMs,
  })
  return { settings, paths, origin: upstream.origin, pool, slots, admitChange: createChangeLimit(settings) }
}

/** Whether the rule of a route allows a caller. Only `anyone` includes the anonymous one. */
export function allows({ allow }: PassThroughSettings, principal: Principal): boolean {
  if (allow === 'anyone') return true
  if (principal.method === 'anonymous') return false
  const { users = [], groups = [], any = false } = allow
  return any || users.includes(principal.name) || groups.some((group) => principal.groups.has(group))
}
