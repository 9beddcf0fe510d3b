import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { KubernetesError } from '../../../src/lib/kubernetes/kubernetes-error.ts'
import { holdLease } from '../../../src/lib/kubernetes/leader-lease.ts'
import { startApiServerWithThings, type ApiServerWithThings } from './api-server-with-things.ts'
import { eventually } from '../../support/eventually.ts'

const timing = { durationMs: 6_000, renewDeadlineMs: 4_000, retryMs: 300 }
const collection = '/apis/coordination.k8s.io/v1/namespaces/team-a/leases'

let server: ApiServerWithThings

beforeAll(async () => {
  server = await startApiServerWithThings()
}, 180_000)
afterAll(() => server.close())

function compete(name: string, identity: string) {
  const errors: KubernetesError[] = []
  const onError = (error: KubernetesError): unknown => errors.push(error)
  const lease = holdLease({ client: server.tested, namespace: 'team-a', name, identity, onError, timing })
  onTestFinished(() => lease.close())
  return { ...lease, errors }
}

/** A Lease of a process on another machine. */
function createForeignLease(name: string, renewTime: string) {
  const spec = { holderIdentity: 'other', leaseDurationSeconds: 6, acquireTime: renewTime, renewTime }
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'team-a' },
    spec,
  }
}

it('has one holder at a time, and passes to another when it is released', async () => {
  const competitors = ['a', 'b', 'c'].map((identity) => compete('contended', identity))
  const holders = () => competitors.filter((competitor) => competitor.isHolder())
  await eventually(() => expect(holders()).toHaveLength(1))
  const [first] = holders()
  for (let count = 0; count < 60; count += 1) {
    await setTimeout(50)
    expect(holders()).toEqual([first])
  }
  expect(await server.client.get(`${collection}/contended`)).toMatchObject({
    spec: { holderIdentity: first?.identity, leaseDurationSeconds: 6, leaseTransitions: 0 },
  })
  const releasedAt = performance.now()
  await first?.close()
  await eventually(() => expect(holders()).toHaveLength(1))
  // Sooner than a Lease that expires.
  expect(performance.now() - releasedAt).toBeLessThan(timing.durationMs)
  expect(await server.client.get(`${collection}/contended`)).toMatchObject({
    spec: { holderIdentity: holders()[0]?.identity, leaseTransitions: 1 },
  })
  expect(competitors.flatMap(({ errors }) => errors)).toEqual([])
})

it.each([
  ['behind', '2001-01-01T00:00:00.000000Z'],
  ['ahead', '2999-01-01T00:00:00.000000Z'],
])('takes a Lease once it is not renewed, with a clock far %s', async (name, renewTime) => {
  await server.client.post(collection, createForeignLease(name, renewTime))
  const startedAt = performance.now()
  const lease = compete(name, 'me')
  const renewals = 4
  for (let count = 0; count < renewals; count += 1) {
    await setTimeout(timing.durationMs / 3)
    expect(lease.isHolder()).toBe(false)
    const renewed = renewTime.replace('.000000', `.00000${count + 1}`)
    await server.client.patch(`${collection}/${name}`, { spec: { renewTime: renewed } })
  }
  await eventually(() => expect(lease.isHolder()).toBe(true))
  expect(performance.now() - startedAt).toBeGreaterThan((renewals / 3 + 1) * timing.durationMs - 100)
  expect(await server.client.get(`${collection}/${name}`)).toMatchObject({
    spec: { holderIdentity: 'me', leaseTransitions: 1 },
  })
})

it('is not held while the API server is down', async () => {
  const lease = compete('interrupted', 'me')
  await eventually(() => expect(lease.isHolder()).toBe(true))
  await server.stop()
  await setTimeout(timing.renewDeadlineMs)
  expect(lease.isHolder()).toBe(false)
  expect(lease.errors.length).toBeGreaterThan(0)
  await server.start()
  await eventually(() => expect(lease.isHolder()).toBe(true))
}, 120_000)
