import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TokenBuckets } from '../../src/limits/token-buckets.ts'

/** Models a bucket refilled millisecond by millisecond: a thousandth of a token per token a second. */
function modelBucket({ perSecond, burst }: { perSecond: number; burst: number }) {
  const full = burst * 1000
  let thousandths = full
  let at = 0
  const advance = (now: number): void => {
    for (; at < now; at += 1) thousandths = Math.min(full, thousandths + perSecond)
  }
  return {
    waitMs(tokens: number, now: number) {
      advance(now)
      const needed = Math.min(tokens, burst) * 1000
      return Math.max(0, Math.ceil((needed - thousandths) / perSecond))
    },
    take(tokens: number, now: number) {
      advance(now)
      thousandths = Math.min(full, thousandths - tokens * 1000)
    },
  }
}

const arrivals = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat(50), fc.nat(400)),
    key: fc.constantFrom('one', 'other'),
    tokens: fc.integer({ min: 1, max: 12 }),
    // Whether it is taken even if unavailable, as for transferred bytes.
    isCertain: fc.boolean(),
  }),
  { maxLength: 60 },
)

it('buckets behave like buckets filled millisecond by millisecond', () => {
  const settings = fc.record({
    perSecond: fc.integer({ min: 1, max: 40 }),
    burst: fc.integer({ min: 1, max: 10 }),
  })
  fc.assert(
    fc.property(settings, arrivals, fc.nat(2 ** 40), (settings, arrivals, start) => {
      const buckets = new TokenBuckets(settings)
      const model = { one: modelBucket(settings), other: modelBucket(settings) }
      let now = 0
      for (const { afterMs, key, tokens, isCertain } of arrivals) {
        now += afterMs
        const expected = model[key].waitMs(tokens, now)
        const wait = buckets.waitMs(key, tokens, start + now)
        expect(Math.max(0, Math.ceil(wait - 0.01))).toBe(expected)
        expect(wait === 0).toBe(expected === 0)
        if (wait > 0 && !isCertain) continue
        buckets.take(key, tokens, start + now)
        model[key].take(tokens, now)
      }
    }),
    { numRuns: 40 },
  )
})

it('returned tokens count as never taken', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 5 })
  buckets.take('key', 5, 0)
  buckets.take('key', -4, 0)
  expect(buckets.waitMs('key', 4, 0)).toBe(0)
  expect(buckets.waitMs('key', 5, 0)).toBe(1000)
  buckets.take('key', -100, 0)
  expect(buckets.waitMs('key', 5, 0)).toBe(0)
  buckets.take('key', 5, 0)
  expect(buckets.waitMs('key', 1, 0)).toBe(1000)
})

it('bounds the number of buckets, and an evicted one is full', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 1 })
  for (let key = 0; key <= 100_000; key += 1) buckets.take(String(key), 1, 0)
  expect(['0', '1', '100000'].map((key) => buckets.waitMs(key, 1, 0))).toEqual([0, 1000, 1000])
})
