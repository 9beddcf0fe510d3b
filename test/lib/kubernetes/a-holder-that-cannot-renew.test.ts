import { setTimeout } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { KubernetesError } from '../../../src/lib/kubernetes/kubernetes-error.ts'
import { holdLease } from '../../../src/lib/kubernetes/leader-lease.ts'
import { inOrder, sendJson, sendStatus, startScriptedApiServer, type Script } from './scripted-api-server.ts'
import { eventually } from '../../support/eventually.ts'

const timing = { durationMs: 2_000, renewDeadlineMs: 600, retryMs: 50 }

function sendLease(holderIdentity: string | undefined): Script {
  return sendJson({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'team-a', name: 'leader', resourceVersion: '7' },
    spec: { leaseDurationSeconds: 60, ...(holderIdentity !== undefined && { holderIdentity }) },
  })
}

async function compete(script: Script, renewDeadlineMs = timing.renewDeadlineMs) {
  const server = await startScriptedApiServer(script)
  const errors: KubernetesError[] = []
  const { client } = server
  const lease = holdLease({
    client,
    namespace: 'team-a',
    name: 'leader',
    identity: 'me',
    onError: (error) => errors.push(error),
    timing: { ...timing, renewDeadlineMs },
  })
  onTestFinished(() => lease.close())
  return { ...server, lease, errors }
}

it('stops to be the holder before the Lease expires for others', async () => {
  let isReachable = true
  const { lease, errors } = await compete((request, response) => {
    if (isReachable) sendLease('me')(request, response)
  })
  await eventually(() => expect(lease.isHolder()).toBe(true))
  isReachable = false
  // Timers may be early.
  await setTimeout(timing.renewDeadlineMs + 50)
  expect(lease.isHolder()).toBe(false)
  expect(errors).toEqual([])
})

it('remains the holder during short failures', async () => {
  const reads = inOrder(sendLease('me'), sendStatus(503), sendStatus(503), sendLease('me'))
  const { lease, errors, requests } = await compete(
    (request, response) => (request.method === 'GET' ? reads : sendLease('me'))(request, response),
    10_000,
  )
  await eventually(() => expect(lease.isHolder()).toBe(true))
  while (requests.length < 8) {
    expect(lease.isHolder()).toBe(true)
    await setTimeout(5)
  }
  expect(errors.map(({ status }) => status)).toEqual([503, 503])
})

it('stops to be the holder at once if another process took the Lease', async () => {
  let holder = 'me'
  const { lease, requests } = await compete(
    (request, response) => sendLease(holder)(request, response),
    10_000,
  )
  await eventually(() => expect(lease.isHolder()).toBe(true))
  holder = 'other'
  const before = requests.length
  // A renewal may be in progress; the request after the next read shows that its response has arrived.
  await eventually(() => expect(requests.length).toBeGreaterThan(before + 2))
  expect(lease.isHolder()).toBe(false)
})

it('is not the holder after a conflict, which is no error', async () => {
  const { lease, errors, requests } = await compete((request, response) =>
    (request.method === 'GET' ? sendLease(undefined) : sendStatus(409))(request, response),
  )
  await eventually(() => expect(requests.length).toBeGreaterThan(5))
  expect(lease.isHolder()).toBe(false)
  expect(errors).toEqual([])
  expect(requests[1]?.body).toMatchObject({
    metadata: { resourceVersion: '7' },
    spec: { holderIdentity: 'me' },
  })
})

it('closes within two seconds if the API server does not respond', async () => {
  let isReachable = true
  const { lease } = await compete((request, response) => {
    if (isReachable) sendLease('me')(request, response)
  })
  await eventually(() => expect(lease.isHolder()).toBe(true))
  isReachable = false
  const startedAt = performance.now()
  const closing = lease.close()
  expect(lease.isHolder()).toBe(false)
  await closing
  expect(performance.now() - startedAt).toBeLessThan(10_000)
})

it('does not release a Lease that it never held', async () => {
  const { lease, requests } = await compete(inOrder(sendLease('other'), () => undefined))
  await eventually(() => expect(requests).toHaveLength(2))
  const startedAt = performance.now()
  await lease.close()
  expect(performance.now() - startedAt).toBeLessThan(5_000)
  expect(requests).toHaveLength(2)
})
