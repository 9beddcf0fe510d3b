import { expect, it, onTestFinished } from 'vitest'
import { directOutbound } from '../../../src/outbound/outbound.ts'
import type { BucketSettings } from '../../../src/limits/token-buckets.ts'
import { openSharedLimits } from '../../../src/limits/shared/shared-limits.ts'
import { sharedLimitsSchema } from '../../../src/config/caller-limit-settings.ts'
import { isWithoutRedis, startRedis } from './running-redis.ts'
import { perSecond, type Shared } from './sharing-gateways.ts'
import { eventually } from '../../support/eventually.ts'

/** One bucket of a gateway, for the limit with that name. */
async function bucketOf(port: number, name: string, settings: BucketSettings, shared: Shared = {}) {
  const address = `redis://127.0.0.1:${port}`
  const observer = { synced: () => undefined, failed: () => undefined }
  const limits = await openSharedLimits(
    sharedLimitsSchema.parse({ url: address, ...shared }),
    directOutbound,
    observer,
    10_000,
  )
  onTestFinished(() => limits.close())
  const buckets = limits.createBuckets(name, settings)
  await limits.start()
  return {
    take: (tokens: number) => buckets.take('key', tokens, performance.now()),
    isThere: (tokens: number) => buckets.waitMs('key', tokens, performance.now()) === 0,
  }
}

it.skipIf(isWithoutRedis)(
  'gateways share a limit only with the same database and the same settings',
  async () => {
    const { port } = await startRedis()
    const settings = { perSecond, burst: 10 }
    const one = await bucketOf(port, 'one', settings)
    const same = await bucketOf(port, 'one', settings)
    const others = [
      await bucketOf(port, 'other', settings),
      await bucketOf(port, 'one', { ...settings, burst: 11 }),
      await bucketOf(port, 'one', { ...settings, perSecond: perSecond * 2 }),
      await bucketOf(port, 'one', settings, { url: `redis://127.0.0.1:${port}/1` }),
    ]
    one.take(6)
    for (const bucket of [same, ...others]) bucket.take(1)
    // A gateway queries the state with each charge, and while its requests are refused.
    await eventually(() => {
      same.take(0)
      expect([one.isThere(5), same.isThere(5)]).toEqual([false, false])
    })
    for (const other of others) {
      await eventually(() => expect([other.isThere(12), other.isThere(9)]).toEqual([false, true]))
    }
  },
)
