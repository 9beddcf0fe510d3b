import type { PassThroughSettings } from '../../config/pass-through-settings.ts'
import { LimitExceeded } from '../../limits/limit-exceeded.ts'
import { createBuckets } from '../../limits/token-buckets.ts'

/** Seconds of changes that may come at once. */
const burstSeconds = 10
/** How many times the changes of one caller all callers of a route for anyone may make: they have many addresses. */
const strangers = 10
/** Bytes of a path per token, so that long paths do not fill the audit log either. */
const bytesPerToken = 1024

/**
 * Limits the audited requests of a route, since each adds a record to the audit log that all callers share. Throws
 * LimitExceeded (429): a change that is not recorded must not be forwarded.
 */
export type AdmitChange = (caller: string, path: string) => void

export function createChangeLimit({
  prefix,
  allow,
  maxChangesPerSecond,
}: Pick<PassThroughSettings, 'prefix' | 'allow' | 'maxChangesPerSecond'>): AdmitChange {
  const burst = burstSeconds * maxChangesPerSecond
  const ofCaller = createBuckets({ perSecond: maxChangesPerSecond, burst })
  const ofAll = createBuckets({ perSecond: strangers * maxChangesPerSecond, burst: strangers * burst })
  return (caller, path) => {
    const now = performance.now()
    const tokens = Math.max(1, Math.ceil(path.length / bytesPerToken))
    const waitForAll = allow === 'anyone' ? ofAll.waitMs('', tokens, now) : 0
    const waitMs = Math.max(ofCaller.waitMs(caller, tokens, now), waitForAll)
    if (waitMs > 0) {
      const message = `the limit of the route ${prefix} on recorded requests (maxChangesPerSecond) is exceeded`
      throw new LimitExceeded('rate_limited', message, waitMs)
    }
    ofCaller.take(caller, tokens, now)
    ofAll.take('', tokens, now)
  }
}
