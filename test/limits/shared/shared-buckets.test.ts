import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Charge, TokenBuckets } from '../../../src/limits/token-buckets.ts'
import { isThorough } from '../../support/thorough.ts'

interface Settings {
  readonly perSecond: number
  readonly burst: number
}

/** Models the charges of all gateways to one bucket, refilled millisecond by millisecond; a debt is possible. */
function modelServer({ perSecond, burst }: Settings) {
  const full = burst * 1000
  let thousandths = full
  let at = 0
  return {
    /** Returns the milliseconds until the bucket is full. */
    charge(ms: number, now: number): number {
      for (; at < now; at += 1) thousandths = Math.min(full, thousandths + perSecond)
      thousandths = Math.min(full, thousandths - Math.round(ms * perSecond))
      return (full - thousandths) / perSecond
    },
  }
}

/** Models a gateway that sends its charges every `gatherMs`, and receives the result `wayMs` later. */
function modelGateway(settings: Settings, server: ReturnType<typeof modelServer>, times: Times) {
  let sendAt = 0
  let underWay:
    | { readonly charges: readonly Charge[]; readonly fills: number[]; readonly at: number }
    | undefined
  const buckets = new TokenBuckets(settings, () => true)
  let now = 0
  return {
    advance(to: number): void {
      now = to
      if (underWay !== undefined && underWay.at <= now) {
        const { charges, fills } = underWay
        charges.forEach(({ key }, index) => buckets.setFillTime(key, fills[index] ?? 0, now))
        underWay = undefined
      }
      if (underWay !== undefined || sendAt > now) return
      const charges = buckets.takeCharges()
      underWay = { charges, fills: charges.map(({ ms }) => server.charge(ms, now)), at: now + times.wayMs }
      sendAt = now + times.gatherMs
    },
    admit(): boolean {
      if (buckets.waitMs('key', 1, now) > 0) return false
      buckets.take('key', 1, now)
      return true
    },
  }
}

interface Times {
  readonly gatherMs: number
  readonly wayMs: number
}

const settings = fc.record({
  perSecond: fc.integer({ min: 1, max: 40 }),
  burst: fc.integer({ min: 1, max: 10 }),
})
const times = fc.record({ gatherMs: fc.integer({ min: 1, max: 12 }), wayMs: fc.nat(30) })
const gatewayCount = fc.integer({ min: 1, max: 4 })
const arrivals = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat(20), fc.nat(500)),
    at: fc.nat(3),
    requests: fc.integer({ min: 1, max: 12 }),
  }),
  { maxLength: isThorough ? 100 : 30 },
)

it('several gateways admit no more than one, except for a burst of each of the others', () => {
  fc.assert(
    fc.property(settings, times, gatewayCount, arrivals, (settings, times, count, arrivals) => {
      const server = modelServer(settings)
      const gateways = Array.from({ length: count }, () => modelGateway(settings, server, times))
      const admitted: number[] = []
      let now = 0
      for (const { afterMs, at, requests } of arrivals) {
        for (const end = now + afterMs; now < end; now += 1) {
          for (const gateway of gateways) gateway.advance(now)
        }
        for (const gateway of gateways) gateway.advance(now)
        for (let sent = 0; sent < requests; sent += 1) {
          if (gateways[at % count]?.admit() === true) admitted.push(now)
        }
      }
      const { perSecond, burst } = settings
      const late = (times.gatherMs + times.wayMs + 2) / 1000
      const excess = (count - 1) * (burst + perSecond * late)
      // No interval may contain more requests than were refilled in it, plus burst and excess. The interval with the
      // most begins at the request that had the fewest before it, compared to the refill until then.
      let fewest = Infinity
      const tooMany = admitted.some((at, index) => {
        const balance = index - (perSecond * at) / 1000
        fewest = Math.min(fewest, balance)
        return balance - fewest + 1 > burst + excess + 0.01
      })
      expect(tooMany).toBe(false)
    }),
    { numRuns: isThorough ? 5_000 : 30 },
  )
})

it('one gateway without delay admits the same as a bucket filled millisecond by millisecond', () => {
  fc.assert(
    fc.property(settings, arrivals, (settings, arrivals) => {
      const buckets = new TokenBuckets(settings, () => true)
      const [server, slow] = [modelServer(settings), modelServer(settings)]
      const perRequest = 1000 / settings.perSecond
      let now = 0
      for (const { afterMs, requests } of arrivals) {
        now += afterMs
        for (let sent = 0; sent < requests; sent += 1) {
          const isAvailable = slow.charge(0, now) + perRequest <= settings.burst * perRequest + 0.01
          expect(buckets.waitMs('key', 1, now) === 0).toBe(isAvailable)
          if (!isAvailable) continue
          slow.charge(perRequest, now)
          buckets.take('key', 1, now)
          for (const { key, ms } of buckets.takeCharges())
            buckets.setFillTime(key, server.charge(ms, now), now)
        }
      }
    }),
    { numRuns: 50 },
  )
})

it('charges made during a sync are retained afterwards', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 3 }, () => true)
  buckets.take('key', 1, 0)
  expect(buckets.takeCharges()).toEqual([{ key: 'key', ms: 1000 }])
  buckets.take('key', 1, 0)
  buckets.setFillTime('key', 1000, 0)
  expect(buckets.waitMs('key', 2, 0)).toBe(1000)
  expect(buckets.waitMs('key', 1, 0)).toBe(0)
  expect(buckets.takeCharges()).toEqual([{ key: 'key', ms: 1000 }])
})

it('a refused request queries whether another gateway has returned tokens', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 1 }, () => true)
  buckets.take('key', 1, 0)
  buckets.takeCharges()
  expect(buckets.waitMs('key', 1, 0)).toBe(1000)
  expect(buckets.takeCharges()).toEqual([{ key: 'key', ms: 0 }])
  buckets.setFillTime('key', 0, 0)
  expect(buckets.waitMs('key', 1, 0)).toBe(0)
})
