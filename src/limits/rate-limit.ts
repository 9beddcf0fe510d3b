import type { BucketFactory } from './token-buckets.ts'
import type { Limit } from './limit.ts'
import { createLimitKeyFunction } from './limit-key.ts'
import type { RateSettings } from '../config/caller-limit-settings.ts'

/** Each request takes a token. */
export function createRateLimit(settings: RateSettings, makeBuckets: BucketFactory): Limit {
  const { name, perSecond, burst = Math.max(1, Math.ceil(perSecond)) } = settings
  const buckets = makeBuckets(name, { perSecond, burst })
  return {
    reason: 'rate_limited',
    title: `the limit "${name}" of ${perSecond} requests a second (limits.rates of the gateway)`,
    keyFor: createLimitKeyFunction(settings),
    waitMs: (key, _request, now) => buckets.waitMs(key, 1, now),
    take(key, _request, now) {
      buckets.take(key, 1, now)
      return undefined
    },
    chargeEntries: (key, requests, now) => buckets.take(key, requests, now),
  }
}
