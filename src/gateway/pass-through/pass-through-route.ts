import { Pool } from 'undici'
import type { PassThroughRouteSettings } from '../../config/index.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { createUndiciConnector } from '../../lib/outbound/undici-connector.ts'
import { LimitExceeded } from '../../limits/limit.ts'
import { FairCapacity } from '../../limits/overload/fair-capacity.ts'
import { createBuckets } from '../../limits/token-buckets.ts'
import { passThroughBounds, upstreamBounds } from '../bounds.ts'
import { createPassThroughPaths } from './pass-through-target.ts'

/** An open pass-through route. */
export type PassThroughRoute = Awaited<ReturnType<typeof openPassThroughRoute>>

/** Opens the upstream and the limits of a route; `catalogUrls` are those of the configured catalogs. */
export async function openPassThroughRoute(
  settings: PassThroughRouteSettings,
  catalogUrls: readonly string[],
  outbound: Outbound,
) {
  const { prefix, allow } = settings
  const upstream = new URL(settings.upstream)
  const opener = await outbound.openClient(`passThrough.${prefix}`, {})
  const connect = createUndiciConnector(opener, upstreamBounds.connectTimeoutMs)
  const headersTimeout = passThroughBounds.responseHeadersTimeoutMs
  // A stream of events may be silent for long.
  const pool = new Pool(upstream.origin, { connect, headersTimeout, bodyTimeout: 0 })
  const catalogs = catalogUrls.map((url) => new URL(url))
  return {
    settings,
    paths: createPassThroughPaths(prefix, upstream, catalogs),
    /** Scheme, host and port of the upstream. */
    origin: new URL(upstream.origin),
    connect,
    pool,
    capacity: new FairCapacity(passThroughBounds.maxRequests, 1),
    admitChange: createChangeLimit(prefix, allow === 'anyone'),
  }
}

/** Seconds of changes that may come at once. */
const burstSeconds = 10
/** How many times the changes of one caller all callers of a route for anyone may make: they have many addresses. */
const strangers = 10
/** Bytes of a path per change, so that long paths do not fill the audit log either. */
const bytesPerChange = 1024

/**
 * Creates the limit of the audited requests of a caller, since each adds a record to the log that all callers share. It
 * throws LimitExceeded (429): a change that is not recorded must not be forwarded.
 */
function createChangeLimit(prefix: string, isForAnyone: boolean): (caller: string, path: string) => void {
  const { changesPerSecond } = passThroughBounds
  const burst = burstSeconds * changesPerSecond
  const ofCaller = createBuckets({ perSecond: changesPerSecond, burst })
  const ofAll = createBuckets({ perSecond: strangers * changesPerSecond, burst: strangers * burst })
  return (caller, path) => {
    const now = performance.now()
    const tokens = Math.max(1, Math.ceil(path.length / bytesPerChange))
    const waitForAll = isForAnyone ? ofAll.waitMs('', tokens, now) : 0
    const waitMs = Math.max(ofCaller.waitMs(caller, tokens, now), waitForAll)
    if (waitMs > 0) {
      const message = `the limit of the route ${prefix} on recorded requests (${changesPerSecond} per second) is exceeded`
      throw new LimitExceeded('rate_limited', message, waitMs)
    }
    ofCaller.take(caller, tokens, now)
    ofAll.take('', tokens, now)
  }
}
