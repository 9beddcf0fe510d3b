import type { BucketFactory } from './token-buckets.ts'
import type { Limit } from './limit.ts'
import { createLimitKeyFunction } from './limit-key.ts'
import { getByteRate, type ByteSettings } from '../config/caller-limit-settings.ts'

/**
 * A limit on bytes. A body of known length must fit into what is there, or find it whole where it is larger than can
 * ever be there; that much is charged at once, and what never came is given back. Everything else is charged as it
 * flows: what goes over leaves a debt, and the next request waits for it.
 */
export function createByteQuota(settings: ByteSettings, makeBuckets: BucketFactory): Limit {
  const { name, direction, perDay } = settings
  const { perSecond, burst } = getByteRate(settings)
  const buckets = makeBuckets(name, { perSecond, burst })
  const keyOf = createLimitKeyFunction(settings)
  const amount = perDay === undefined ? `${perSecond} bytes a second` : `${perDay} bytes a day`
  const isUp = direction !== 'down'
  return {
    reason: 'quota_exceeded',
    title: `the limit "${name}" of ${amount}`,
    keyFor: (request) => (direction === 'up' && !request.hasBody ? undefined : keyOf(request)),
    waitMs: (key, request, now) => buckets.waitMs(key, isUp ? requiredBytes(request.contentLength) : 1, now),
    take(key, { contentLength }, now) {
      const charge = (bytes: number): void => buckets.take(key, bytes, performance.now())
      // No more than can be there, so that a length of which nothing comes shuts nobody else out for long.
      let announced = isUp ? Math.min(contentLength ?? 0, burst) : 0
      if (announced > 0) buckets.take(key, announced, now)
      const countReceived = (bytes: number): void => {
        const paid = Math.min(bytes, announced)
        announced -= paid
        if (bytes > paid) charge(bytes - paid)
      }
      return {
        ...(isUp && { countReceived }),
        ...(direction !== 'up' && { countSent: charge }),
        release() {
          if (announced > 0) charge(-announced)
        },
      }
    },
  }
}

/** Whoever has nothing left must not begin what has no length yet. */
function requiredBytes(contentLength: number | undefined): number {
  return Math.max(1, contentLength ?? 1)
}
