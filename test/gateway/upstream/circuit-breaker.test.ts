import { expect, it, vi } from 'vitest'
import { CircuitBreaker } from '../../../src/gateway/upstream/circuit-breaker.ts'

function breakerOfThree() {
  const probeNow = vi.fn<() => void>()
  const breaker = new CircuitBreaker({ consecutiveFailures: 3, probeIntervalMs: 1_000 }, probeNow)
  const fail = (count: number): void => {
    for (let index = 0; index < count; index += 1) breaker.recordFailure()
  }
  return { breaker, probeNow, fail }
}

it('consecutive failures lead to a probe, and alone never open the circuit', () => {
  const { breaker, probeNow, fail } = breakerOfThree()
  fail(2)
  breaker.recordSuccess()
  fail(2)
  expect(probeNow).not.toHaveBeenCalled()
  fail(1)
  expect(probeNow).toHaveBeenCalledTimes(1)
  fail(1_000)
  expect(breaker.state).toBe('closed')
})

it('a failed probe after as many failures opens the circuit', () => {
  const { breaker, fail } = breakerOfThree()
  fail(3)
  breaker.recordProbe(false)
  expect(breaker.state).toBe('open')
})

it('two failed probes in a row open the circuit, one does not', () => {
  const { breaker } = breakerOfThree()
  breaker.recordProbe(false)
  breaker.recordProbe(true)
  breaker.recordProbe(false)
  expect(breaker.state).toBe('closed')
  breaker.recordProbe(false)
  expect(breaker.state).toBe('open')
})

it('the first successful probe closes the circuit and resets the failures', () => {
  const { breaker, probeNow, fail } = breakerOfThree()
  fail(3)
  breaker.recordProbe(false)
  breaker.recordProbe(true)
  expect(breaker.state).toBe('closed')
  fail(2)
  breaker.recordProbe(false)
  expect(breaker.state).toBe('closed')
  expect(probeNow).toHaveBeenCalledTimes(1)
})

it('a request sent before the circuit opened does not close it', () => {
  const { breaker, fail } = breakerOfThree()
  fail(3)
  breaker.recordProbe(false)
  breaker.recordSuccess()
  expect(breaker.state).toBe('open')
})
