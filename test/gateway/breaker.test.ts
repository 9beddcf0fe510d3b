import { describe, expect, it } from 'vitest'
import { createBreaker } from '../../src/gateway/upstream/breaker.ts'

/** A breaker that opens after three failures, for a second of a clock that stands still unless it is set. */
function breakerWithClock() {
  const clock = { now: 0 }
  const breaker = createBreaker({ failures: 3, openMs: 1_000 }, () => clock.now)
  const attempt = (verdict: 'good' | 'bad' | 'nothing') => breaker.settle(breaker.admit() ?? 0, verdict)
  const open = () => ['bad', 'bad', 'bad'].forEach(() => attempt('bad'))
  return { breaker, clock, attempt, open }
}

describe('a closed breaker', () => {
  it('opens at the last of so many failures in a row, and lets nobody through for its time', () => {
    const { breaker, clock, attempt } = breakerWithClock()
    attempt('bad')
    attempt('bad')
    expect(breaker.state()).toBe('closed')
    attempt('bad')
    expect(breaker.state()).toBe('open')
    expect(breaker.closedForMs()).toBe(1_000)
    clock.now = 999
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.closedForMs()).toBe(1)
  })

  it('counts failures in a row only', () => {
    const { breaker, attempt } = breakerWithClock()
    for (let count = 0; count < 10; count += 1) {
      attempt('bad')
      attempt('bad')
      attempt('good')
    }
    expect(breaker.state()).toBe('closed')
  })

  it('takes what says nothing neither for a failure nor for the end of a row', () => {
    const { breaker, attempt } = breakerWithClock()
    attempt('bad')
    attempt('bad')
    for (let count = 0; count < 10; count += 1) attempt('nothing')
    expect(breaker.state()).toBe('closed')
    attempt('bad')
    expect(breaker.state()).toBe('open')
  })
})

describe('an open breaker whose time is over', () => {
  it('lets one attempt through, and closes when it goes well', () => {
    const { breaker, clock, open } = breakerWithClock()
    open()
    clock.now = 1_000
    expect(breaker.closedForMs()).toBe(0)
    const probe = breaker.admit()
    expect(probe).toBeDefined()
    expect(breaker.state()).toBe('half-open')
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.closedForMs()).toBe(1_000)
    breaker.settle(probe ?? 0, 'good')
    expect(breaker.state()).toBe('closed')
  })

  it('is open for its time again when the attempt fails', () => {
    const { breaker, clock, open, attempt } = breakerWithClock()
    open()
    clock.now = 1_000
    attempt('bad')
    expect(breaker.state()).toBe('open')
    expect(breaker.closedForMs()).toBe(1_000)
  })

  it('lets another one through at once when the attempt says nothing, and in its time when it says nothing for long', () => {
    const { breaker, clock, open, attempt } = breakerWithClock()
    open()
    clock.now = 1_000
    attempt('nothing')
    const second = breaker.admit()
    expect(second).toBeDefined()
    clock.now = 2_000
    const third = breaker.admit()
    expect(third).toBeDefined()
    breaker.settle(second ?? 0, 'good')
    expect(breaker.state()).toBe('closed')
  })
})

it('an attempt from before the breaker opened does not close it, nor keeps it from closing', () => {
  const { breaker, clock, open } = breakerWithClock()
  const early = [breaker.admit() ?? 0, breaker.admit() ?? 0]
  open()
  breaker.settle(early[0] ?? 0, 'good')
  expect(breaker.state()).toBe('open')
  clock.now = 1_000
  const probe = breaker.admit() ?? 0
  breaker.settle(early[1] ?? 0, 'bad')
  expect(breaker.state()).toBe('half-open')
  breaker.settle(probe, 'good')
  expect(breaker.state()).toBe('closed')
})

it('a breaker that is tripped is open for its time from then on', () => {
  const { breaker, clock } = breakerWithClock()
  breaker.trip()
  clock.now = 600
  breaker.trip()
  expect(breaker.closedForMs()).toBe(1_000)
})
