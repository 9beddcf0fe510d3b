import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createStatus } from '../../../../src/policy/source/kubernetes/resource-status.ts'
import { inOrder, sendStatus } from '../../../lib/kubernetes/scripted-api-server.ts'
import { accept, applyPatch, createPolicy, isStatus, openReporter, refuse } from './report-results.ts'
import { eventually } from '../../../support/eventually.ts'

const time = '2026-01-02T03:04:05Z'

it('records one event when a resource is refused', async () => {
  const { reporter, requests } = await openReporter()
  const status = createStatus(accept(createPolicy('one')), time)
  reporter.report([refuse(createPolicy('one', {}, status)), accept(createPolicy('two'))])
  await eventually(() => expect(requests).toHaveLength(3))
  const event = requests.find((request) => !isStatus(request))
  expect(event).toMatchObject({ method: 'POST', path: '/apis/events.k8s.io/v1/namespaces/team-a/events' })
  expect(event?.body).toMatchObject({
    type: 'Warning',
    reason: 'Invalid',
    action: 'Validate',
    note: 'line 7: expected a list',
    reportingController: 'catalog-gateway.dev/gateway',
    reportingInstance: 'replica-1',
    regarding: { kind: 'AccessPolicy', namespace: 'team-a', name: 'one', uid: 'uid-of-one' },
  })
})

it('records none if the resource was refused for the same reason before', async () => {
  const { reporter, requests } = await openReporter()
  const refused = refuse(createPolicy('one', { generation: 2 }))
  reporter.report([refuse(createPolicy('one', { generation: 3 }, createStatus(refused, time)))])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(100)
  expect(requests.every(isStatus)).toBe(true)
})

it('records none if the status was not written', async () => {
  const { reporter, requests } = await openReporter(inOrder(sendStatus(409), applyPatch))
  reporter.report([refuse(createPolicy('one'))])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(100)
  expect(requests).toHaveLength(1)
})

it('records none if a resource is being deleted', async () => {
  const { reporter, requests } = await openReporter()
  const status = createStatus(accept(createPolicy('one')), time)
  const accepted = { reason: 'Terminating', message: 'the policy is being deleted' } as const
  reporter.report([{ ...accept(createPolicy('one', {}, status)), accepted }])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(100)
  expect(requests.every(isStatus)).toBe(true)
})
