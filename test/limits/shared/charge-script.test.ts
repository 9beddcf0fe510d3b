import { expect, it, onTestFinished } from 'vitest'
import { directOutbound } from '../../../src/outbound/outbound.ts'
import { openBucketStore } from '../../../src/limits/shared/shared-limits.ts'
import { sharedLimitsSchema } from '../../../src/config/caller-limit-settings.ts'
import { isWithoutRedis, startRedis } from './running-redis.ts'
import { eventually } from '../../support/eventually.ts'

/** Exceeds the duration of a test even on a slow machine. */
const slowMs = 30_000

it.skipIf(isWithoutRedis)(
  'charges and refills buckets by the clock of the server, and expires full ones',
  async () => {
    const redis = await startRedis()
    const settings = sharedLimitsSchema.parse({
      url: `redis://127.0.0.1:${redis.port}`,
    })
    const connection = await openBucketStore(settings, directOutbound, new AbortController().signal)
    onTestFinished(() => connection.close())
    const charge = async (key: string, ms: number): Promise<number> =>
      (await connection.charge([{ key, ms }]))[0] ?? NaN
    const lifetime = async (key: string): Promise<number> => Number(await redis.command('PTTL', key))

    let sum = 0
    for (const ms of [3_600_000, 0.25, -600_000, 1_800_000]) {
      sum += ms
      const fill = await charge('one', ms)
      expect(fill).toBeLessThanOrEqual(sum)
      expect(fill).toBeGreaterThan(sum - slowMs)
    }
    const several = ['other', 'one', 'other'].map((key) => ({ key, ms: 500_000 }))
    expect(await connection.charge(several)).toEqual([500_000, expect.any(Number), 1_000_000])

    // Buckets refill over time, and a full one takes no memory.
    const before = await charge('one', 0)
    await eventually(async () => expect(await charge('one', 0)).toBeLessThanOrEqual(before - 50))
    expect(await charge('asked for', 0)).toBe(0)
    await charge('given back', 10_000)
    expect(await charge('given back', -10_000)).toBe(0)
    await charge('for a moment', 20)
    await eventually(async () =>
      expect(((await redis.command('KEYS', '*')) as string[]).toSorted()).toEqual(['one', 'other']),
    )
    await charge('for long', 60_000)
    expect(await lifetime('for long')).toBeGreaterThan(60_000 - slowMs)
    expect(await lifetime('for long')).toBeLessThanOrEqual(60_000)
    await charge('for ever', 1e300)
    expect(await lifetime('for ever')).toBeLessThanOrEqual(366 * 86_400_000)

    // A clock that goes back refills nothing, and an invalid value counts as a full bucket.
    await redis.command('SET', 'from tomorrow', `5000 ${Date.now() + 86_400_000}`)
    expect(await charge('from tomorrow', 1_000)).toBe(6_000)
    await redis.command('SET', 'of somebody else', 'what they like')
    expect(await charge('of somebody else', 1_000)).toBe(1_000)

    // A server that has lost the script receives it again.
    await redis.command('SCRIPT', 'FLUSH')
    expect(await charge('after all', 1_000)).toBe(1_000)
  },
)
