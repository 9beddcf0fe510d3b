import type { BucketMaker } from './buckets.ts'
import type { Limit } from './limit.ts'
import { keyFinder } from './selection.ts'
import type { RateSettings } from './fairness-settings.ts'

/** A limit on how many requests are let in: each takes a token. */
export function rateLimit(settings: RateSettings, makeBuckets: BucketMaker): Limit {
  const { name, perSecond, burst = Math.max(1, Math.ceil(perSecond)) } = settings
  const buckets = makeBuckets(name, { perSecond, burst })
  return {
    reason: 'rate_limited',
    title: `the limit "${name}" of ${perSecond} requests a second`,
    keyOf: keyFinder(settings),
    waitMs: (key, _request, now) => buckets.waitMs(key, 1, now),
    take(key, _request, now) {
      buckets.take(key, 1, now)
      return undefined
    },
    takeFurther: (key, requests, now) => buckets.take(key, requests, now),
  }
}
