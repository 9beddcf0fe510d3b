import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createTraffic, type RefusedRequest, type ServedRequest } from '../../src/console/traffic.ts'

interface Ended extends ServedRequest {
  readonly afterMs: number
}

const ended: fc.Arbitrary<Ended> = fc.record({
  afterMs: fc.oneof(fc.nat(2_000), fc.nat(200_000)),
  operation: fc.constantFrom('ListTables', 'DropTable', 'unknown'),
  status: fc.constantFrom(200, 403, 499, 502),
  decision: fc.constantFrom('allow', 'deny', 'none'),
  durationMs: fc.nat(5_000),
  upstream: fc.constant('catalog'),
  principal: fc.constant('ada'),
})

it('summarizes all requests of the last 120 seconds', () => {
  fc.assert(
    fc.property(fc.array(ended, { maxLength: 60 }), fc.nat(200_000), (requests, pauseMs) => {
      let now = 12_345
      const traffic = createTraffic(() => now)
      const all = requests.map((request) => {
        now += request.afterMs
        traffic.addRequest(request)
        return { ...request, second: Math.floor(now / 1000) }
      })
      now += pauseMs
      const first = Math.floor(now / 1000) - 120
      const { seconds, statuses, operations, sampledRequests } = traffic.getSummary()
      const count = (matches: (request: (typeof all)[number]) => boolean) => all.filter(matches).length
      const expected = seconds.map((_, index) => {
        const own = all.filter(({ second }) => second === first + index)
        const of = (decision: Ended['decision']) => own.filter((one) => one.decision === decision).length
        return { allow: of('allow'), deny: of('deny'), none: of('none') }
      })
      expect([seconds.length, seconds]).toEqual([120, expected])
      const isShown = ({ second }: { second: number }) => second >= first && second < first + 120
      for (const { status, count: shown } of statuses) {
        expect(shown).toBe(count((one) => isShown(one) && one.status === status))
      }
      expect(statuses.reduce((sum, { count }) => sum + count, 0)).toBe(count(isShown))
      expect(sampledRequests).toBe(all.length)
      for (const { operation, count: shown, p50, p99 } of operations) {
        const own = all.filter((one) => one.operation === operation).map(({ durationMs }) => durationMs)
        expect(shown).toBe(own.length)
        const below = (limit: number) => own.filter((duration) => duration <= limit).length / own.length
        expect([own.includes(p50), own.includes(p99)]).toEqual([true, true])
        expect([below(p50) >= 0.5, below(p99) >= 0.99]).toEqual([true, true])
      }
    }),
  )
})

it('retains a bounded number of requests and refusals', () => {
  const traffic = createTraffic()
  for (let index = 0; index < 10_000; index += 1) {
    traffic.addRequest({
      operation: index < 5_000 ? 'Old' : 'New',
      status: 200,
      decision: 'allow',
      durationMs: index,
      upstream: undefined,
      principal: undefined,
    })
    traffic.addRefusal(refusal(index))
  }
  const { operations, sampledRequests, refusals } = traffic.getSummary()
  expect(operations).toMatchObject([{ operation: 'New', count: 4_096 }])
  expect(sampledRequests).toBe(4_096)
  expect(refusals.counts).toEqual([{ stage: 'authorize', reason: 'no_rule', count: 10_000 }])
  expect(refusals.newest).toHaveLength(50)
  expect(refusals.newest[0]).toEqual(refusal(9_999))
})

function refusal(index: number): RefusedRequest {
  return {
    time: index,
    stage: 'authorize',
    reason: 'no_rule',
    status: 403,
    operation: 'DropTable',
    id: 'a',
    principal: 'ada',
    client: '127.0.0.1',
    requestId: String(index),
    denial: undefined,
    restrictedBy: undefined,
  }
}
