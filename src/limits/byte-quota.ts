import { formatBytes } from '../lib/format-bytes.ts'
import type { BucketFactory } from './token-buckets.ts'
import type { Limit } from './limit.ts'
import { createLimitKeyFunction } from './limit-key.ts'
import type { ByteSettings } from '../config/caller-limit-settings.ts'

/**
 * Counts request bodies and responses. A body of known length must fit into the available tokens, or find a full bucket
 * if it is larger than the bucket, which holds one second of bytes. It is charged in advance; unused bytes are returned.
 * Other bytes are charged as they are transferred and may leave a debt.
 */
export function createByteQuota(settings: ByteSettings, makeBuckets: BucketFactory): Limit {
  const { name, perSecond } = settings
  const burst = Math.ceil(perSecond)
  const buckets = makeBuckets(name, { perSecond, burst })
  return {
    reason: 'quota_exceeded',
    title: `the limit "${name}" of ${formatBytes(perSecond)} a second (limits.byteQuotas of the gateway)`,
    keyFor: createLimitKeyFunction(settings),
    waitMs: (key, request, now) => buckets.waitMs(key, requiredBytes(request.contentLength), now),
    take(key, { contentLength }, now) {
      const charge = (bytes: number): void => buckets.take(key, bytes, performance.now())
      // At most the burst, so that an announced length that is never sent does not block other requests for long.
      let announcedBytes = Math.min(contentLength ?? 0, burst)
      if (announcedBytes > 0) buckets.take(key, announcedBytes, now)
      return {
        countReceived(bytes) {
          const paidBytes = Math.min(bytes, announcedBytes)
          announcedBytes -= paidBytes
          if (bytes > paidBytes) charge(bytes - paidBytes)
        },
        countSent: charge,
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
