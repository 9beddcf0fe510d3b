import type { BucketFactory } from './token-buckets.ts'
import type { Limit } from './limit.ts'
import { createLimitKeyFunction } from './limit-key.ts'
import { getByteRate, type ByteSettings } from '../config/caller-limit-settings.ts'

/**
 * Creates a limit on bytes. A body of known length must fit into the available tokens, or find a full bucket if it is
 * larger than the bucket; that amount is charged in advance, and unused bytes are returned. Everything else is charged
 * as it is transferred: an excess leaves a debt that delays the next request.
 */
export function createByteQuota(settings: ByteSettings, makeBuckets: BucketFactory): Limit {
  const { name, direction, perDay } = settings
  const { perSecond, burst } = getByteRate(settings)
  const buckets = makeBuckets(name, { perSecond, burst })
  const getKey = createLimitKeyFunction(settings)
  const amount = perDay === undefined ? `${perSecond} bytes a second` : `${perDay} bytes a day`
  const isUp = direction !== 'down'
  return {
    reason: 'quota_exceeded',
    title: `the limit "${name}" of ${amount}`,
    keyFor: (request) => (direction === 'up' && !request.hasBody ? undefined : getKey(request)),
    waitMs: (key, request, now) => buckets.waitMs(key, isUp ? requiredBytes(request.contentLength) : 1, now),
    take(key, { contentLength }, now) {
      const charge = (bytes: number): void => buckets.take(key, bytes, performance.now())
      // At most the burst, so that an announced length that is never sent does not block other requests for long.
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

/** A request without a known length requires at least one byte. */
function requiredBytes(contentLength: number | undefined): number {
  return Math.max(1, contentLength ?? 1)
}
