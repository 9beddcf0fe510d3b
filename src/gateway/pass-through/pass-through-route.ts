import { AsyncLocalStorage } from 'node:async_hooks'
import { Pool, type buildConnector, type Dispatcher } from 'undici'
import type { PassThroughRouteSettings } from '../../config/pass-through-settings.ts'
import type { Principal } from '../../identity/principal.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { createUndiciConnector } from '../../lib/outbound/undici-connector.ts'
import { LimitExceeded } from '../../limits/limit-exceeded.ts'
import { FairCapacity } from '../../limits/overload/fair-capacity.ts'
import { createBuckets } from '../../limits/token-buckets.ts'
import { passThroughBounds, upstreamBounds } from '../bounds.ts'
import { createPassThroughPaths, type PassThroughPaths } from './pass-through-target.ts'

/** Seconds of changes that may come at once. */
const burstSeconds = 10
/** How many times the changes of one caller all callers of a route for anyone may make: they have many addresses. */
const strangers = 10
/** Bytes of a path per change, so that long paths do not fill the audit log either. */
const bytesPerChange = 1024

/** An open pass-through route. */
export interface PassThroughRoute {
  readonly settings: PassThroughRouteSettings
  readonly paths: PassThroughPaths
  /** Scheme, host and port of the upstream. */
  readonly origin: URL
  readonly connect: buildConnector.connector
  /** Sends a request, which is aborted by the signal of `abortable`. Redirects are not followed. */
  readonly client: Pick<Dispatcher, 'request'>
  readonly abortable: AsyncLocalStorage<AbortSignal>
  readonly capacity: FairCapacity
  /**
   * Limits the audited requests of a caller, since each adds a record to the log that all callers share. Throws
   * LimitExceeded (429): a change that is not recorded must not be forwarded.
   */
  readonly admitChange: (caller: string, path: string) => void
  close(): Promise<void>
}

/** `catalogUrls` are those of the configured catalogs. */
export async function openPassThroughRoute(
  settings: PassThroughRouteSettings,
  catalogUrls: readonly string[],
  outbound: Outbound,
): Promise<PassThroughRoute> {
  const { prefix, allow } = settings
  const upstream = new URL(settings.upstream)
  const connect = createUndiciConnector(
    await outbound.openClient(`passThrough.${prefix}`, {}),
    upstreamBounds.connectTimeoutMs,
  )
  // A stream of events may be silent for long.
  const pool = new Pool(upstream.origin, {
    connect,
    headersTimeout: passThroughBounds.responseHeadersTimeoutMs,
    bodyTimeout: 0,
  })
  const abortable = new AsyncLocalStorage<AbortSignal>()
  return {
    settings,
    paths: createPassThroughPaths(
      prefix,
      upstream,
      catalogUrls.map((url) => new URL(url)),
    ),
    origin: new URL(upstream.origin),
    connect,
    client: createAbortableClient(pool, () => abortable.getStore()),
    abortable,
    capacity: new FairCapacity(passThroughBounds.maxRequests, 1),
    admitChange: createChangeLimit(prefix, allow === 'anyone'),
    close: () => pool.destroy(),
  }
}

/** Whether the rule of a route allows an authenticated caller. */
export function allows({ allow }: PassThroughRouteSettings, { name, groups }: Principal): boolean {
  if (allow === 'anyone' || allow.any === true) return true
  return (allow.users ?? []).includes(name) || (allow.groups ?? []).some((group) => groups.has(group))
}

function createChangeLimit(prefix: string, isForAnyone: boolean): PassThroughRoute['admitChange'] {
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

/** Requests of a pool that are aborted by a signal, for which @fastify/http-proxy has no option. */
function createAbortableClient(
  pool: Pool,
  getSignal: () => AbortSignal | undefined,
): Pick<Dispatcher, 'request'> {
  function request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
  ): Promise<Dispatcher.ResponseData<Opaque>>
  function request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
    callback: (error: Error | null, data: Dispatcher.ResponseData<Opaque>) => void,
  ): void
  function request<Opaque = null>(
    options: Dispatcher.RequestOptions<Opaque>,
    callback?: (error: Error | null, data: Dispatcher.ResponseData<Opaque>) => void,
  ): Promise<Dispatcher.ResponseData<Opaque>> | void {
    const abortable = { ...options, signal: getSignal() }
    return callback === undefined ? pool.request(abortable) : pool.request(abortable, callback)
  }
  return { request }
}
