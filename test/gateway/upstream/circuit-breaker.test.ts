import { expect, it, onTestFinished } from 'vitest'
import { UpstreamHealth } from '../../../src/gateway/upstream/upstream-health.ts'

/** An upstream whose circuit opens after three failed requests and a failed check. */
function healthOfThree() {
  let status = 200
  let probes = 0
  const bounds = {
    consecutiveFailures: 3,
    probeIntervalMs: 60_000,
    healthCheckIntervalMs: 60_000,
    healthCheckTimeoutMs: 60_000,
  }
  const health = new UpstreamHealth({
    name: 'catalog',
    bounds,
    hasCredential: () => false,
    probe: () => {
      probes += 1
      return Promise.resolve({ status })
    },
  })
  onTestFinished(() => health.close())
  const fail = (count: number): void => {
    for (let index = 0; index < count; index += 1) health.recordFailure()
  }
  const check = async (responds: boolean | number): Promise<void> => {
    status = typeof responds === 'number' ? responds : responds ? 200 : 503
    await health.check()
  }
  return { health, fail, check, countProbes: () => probes }
}

it.each([
  ...[200, 204, 401, 403, 404, 406, 500, 501].map((status) => [status, 'closed', true] as const),
  ...[502, 503, 504].map((status) => [status, 'open', false] as const),
])('after checks with the status %i, the circuit is %s', async (status, circuit, isHealthy) => {
  const { health, check } = healthOfThree()
  await check(status)
  await check(status)
  expect([health.circuit, health.isHealthy]).toEqual([circuit, isHealthy])
})

it('consecutive failures lead to a check, and alone never open the circuit', () => {
  const { health, fail, countProbes } = healthOfThree()
  fail(2)
  health.recordSuccess()
  fail(2)
  expect(countProbes()).toBe(0)
  fail(1)
  expect(countProbes()).toBe(1)
  fail(1_000)
  expect(health.circuit).toBe('closed')
})

it('a failed check after as many failures opens the circuit', async () => {
  const { health, fail, check } = healthOfThree()
  fail(2)
  const checked = check(false)
  fail(1)
  await checked
  expect(health.circuit).toBe('open')
})

it('two failed checks in a row open the circuit, one does not', async () => {
  const { health, check } = healthOfThree()
  await check(false)
  await check(true)
  await check(false)
  expect(health.circuit).toBe('closed')
  await check(false)
  expect(health.circuit).toBe('open')
})

it('the first check that passes closes the circuit and resets the failures', async () => {
  const { health, fail, check, countProbes } = healthOfThree()
  await check(false)
  await check(false)
  await check(true)
  expect(health.circuit).toBe('closed')
  fail(2)
  await check(false)
  expect(health.circuit).toBe('closed')
  expect(countProbes()).toBe(4)
})

it('a request sent before the circuit opened does not close it', async () => {
  const { health, check } = healthOfThree()
  await check(false)
  await check(false)
  health.recordSuccess()
  expect(health.circuit).toBe('open')
})
