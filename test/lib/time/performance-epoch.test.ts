import { expect, it } from 'vitest'
import { createPerformanceEpoch } from '../../../src/observability/traces/traces.ts'

/** A machine started at time 1000.4, whose clock can be changed by `setClock`. */
function machine() {
  let now = 0
  let set = 0
  const epoch = createPerformanceEpoch(
    () => Math.floor(1_000.4 + now + set),
    () => now,
  )
  return {
    epoch,
    /** The computed time of an event that much later. */
    after: (milliseconds: number): number => {
      now += milliseconds
      return epoch() + now
    },
    setClock: (by: number): void => {
      set += by
    },
  }
}

it('later events get later times, however short the interval', () => {
  const { after } = machine()
  let before = -Infinity
  for (let count = 0; count < 10_000; count += 1) {
    const reported = after(0.07)
    expect(reported).toBeGreaterThan(before)
    before = reported
  }
})

it('becomes exact although the clock lags by up to a millisecond', () => {
  const { epoch, after } = machine()
  for (let count = 0; count < 1_000; count += 1) after(0.37)
  expect(Math.abs(epoch() - 1_000.4)).toBeLessThan(0.02)
})

it.each([60_000, 1.5, -1.5, -60_000])('follows a clock that is set by %d ms', (by) => {
  const { epoch, after, setClock } = machine()
  for (let count = 0; count < 1_000; count += 1) after(0.37)
  setClock(by)
  for (let count = 0; count < 1_000; count += 1) after(0.37)
  expect(Math.abs(epoch() - by - 1_000.4)).toBeLessThan(0.02)
})
