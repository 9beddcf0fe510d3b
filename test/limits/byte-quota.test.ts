import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { getOperation } from '../../src/catalog-api/operations.ts'
import { createByteQuota } from '../../src/limits/limits.ts'
import { TokenBuckets } from '../../src/limits/token-buckets.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const requestOf = (contentLength: number | undefined) => ({
  principal: { name: 'dev', method: 'api-key' as const },
  route: { operation: getOperation('InsertIntoTable'), id: ['t'] },
  head: { client: '192.0.2.1', contentLength },
})

/** A quota of one second of 100,000 bytes, and what a request of this many bytes waits for and takes. */
function openQuota() {
  const settings = { name: 'bytes', per: 'all', operations: ['all'], perSecond: 100_000 } as const
  const quota = createByteQuota(
    { ...settings, operations: ['all'] },
    (_limit, buckets) => new TokenBuckets(buckets),
  )
  return {
    waitMs: (bytes: number | undefined) => quota.waitMs('key', requestOf(bytes), performance.now()),
    take: (bytes: number | undefined) => quota.take('key', requestOf(bytes), performance.now()),
  }
}

it('a body of known length must fit into the available bytes', () => {
  const { waitMs, take } = openQuota()
  take(60_000)
  expect(waitMs(40_000)).toBe(0)
  expect(waitMs(60_000)).toBeCloseTo(200, 5)
  vi.advanceTimersByTime(200)
  expect(waitMs(60_000)).toBe(0)
})

it('a body larger than a second of bytes needs a full bucket', () => {
  const { waitMs, take } = openQuota()
  expect(waitMs(5_000_000)).toBe(0)
  take(1_000)
  expect(waitMs(5_000_000)).toBeCloseTo(10, 5)
})

it('charges what exceeds the announced length, and returns what was not sent', () => {
  const { waitMs, take } = openQuota()
  const unsent = take(100_000)
  expect(waitMs(1_000)).toBeCloseTo(10, 5)
  unsent?.countReceived?.(30_000)
  unsent?.release()
  expect(waitMs(70_000)).toBe(0)
  expect(waitMs(71_000)).toBeCloseTo(10, 5)
})

it('charges bodies without a length, and responses, as they are transferred', () => {
  const { waitMs, take } = openQuota()
  const lease = take(undefined)
  lease?.countReceived?.(50_000)
  lease?.countSent?.(150_000)
  lease?.release()
  expect(waitMs(undefined)).toBeGreaterThan(1_000)
})
