import { formatBytes } from '../lib/format-bytes.ts'
import type { BucketFactory } from './token-buckets.ts'
import type { Limit } from './limit.ts'
import { createLimitKeyFunction } from './limit-key.ts'
import { getByteRate, type ByteSettings } from '../config/caller-limit-settings.ts'

/**
 * A body of known length must fit into the available tokens, or find a full bucket if it is larger than the bucket. It
 * is charged in advance; unused bytes are returned. Other bytes are charged as they are transferred and may leave a
 * debt.
 */
export function createByteQuota(settings: ByteSettings, makeBuckets: BucketFactory): Limit {
  const { name, direction, perDay } = settings
  const { perSecond, burst } = getByteRate(settings)
  const buckets = makeBuckets(name, { perSecond, burst })
  const getKey = createLimitKeyFunction(settings)
  const amount = perDay === undefined ? `${formatBytes(perSecond)} a second` : `${formatBytes(perDay)} a day`
  const countsUploads = direction !== 'down'
  return {
    reason: 'quota_exceeded',
    title: `the limit "${name}" of ${amount} (limits.byteQuotas of the gateway)`,
    keyFor: (request) => (direction === 'up' && !request.hasBody ? undefined : getKey(request)),
    waitMs: (key, request, now) =>
      buckets.waitMs(key, countsUploads ? requiredBytes(request.contentLength) : 1, now),
    take(key, { contentLength }, now) {
      const charge = (bytes: number): void => buckets.take(key, bytes, performance.now())
      // At most the burst, so that an announced length that is never sent does not block other requests for long.
      let announcedBytes = countsUploads ? Math.min(contentLength ?? 0, burst) : 0
      if (announcedBytes > 0) buckets.take(key, announcedBytes, now)
      const countReceived = (bytes: number): void => {
        const paidBytes = Math.min(bytes, announcedBytes)
        announcedBytes -= paidBytes
        if (bytes > paidBytes) charge(bytes - paidBytes)
      }
      return {
        ...(countsUploads && { countReceived }),
        ...(direction !== 'up' && { countSent: charge }),
        release() {
          if (announcedBytes > 0) charge(-announcedBytes)
        },
      }
    },
  }
}

/** A request without a known length requires at least one byte. */
function requiredBytes(contentLength: number | undefined): number {
  return Math.max(1, contentLength ?? 1)
}
