import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import {
  createStatus,
  type ResourceStatus,
} from '../../../../src/policy/source/kubernetes/resource-status.ts'
import { accept, createPolicy, getNames, openReporter, refuse } from './report-results.ts'
import { eventually } from '../../../support/eventually.ts'

const before = '2026-01-02T03:04:05Z'

/** The status that a resource has after it was accepted. */
function acceptedStatus(generation: number): ResourceStatus {
  return createStatus(accept(createPolicy('one', { generation })), before)
}

it('patches the status of the version that was judged', async () => {
  const { reporter, requests } = await openReporter()
  reporter.report([accept(createPolicy('one'))])
  await eventually(() => expect(requests).toHaveLength(1))
  expect(requests[0]).toMatchObject({
    method: 'PATCH',
    path: '/apis/catalog-gateway.dev/v1/namespaces/team-a/accesspolicies/one/status',
  })
  const lastTransitionTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const common = { observedGeneration: 3, lastTransitionTime }
  expect(requests[0]?.body).toEqual({
    metadata: { resourceVersion: '10' },
    status: {
      observedGeneration: 3,
      conditions: [
        {
          type: 'Accepted',
          status: 'True',
          reason: 'Accepted',
          message: 'the policy is in force',
          ...common,
        },
        { type: 'Conflict', status: 'False', reason: 'NoConflict', message: '', ...common },
      ],
    },
  })
})

it('writes nothing if the status is the same', async () => {
  const { reporter, requests } = await openReporter()
  reporter.report([accept(createPolicy('one', {}, acceptedStatus(3))), accept(createPolicy('two'))])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(150)
  expect(getNames(requests)).toEqual(['two'])
})

it('keeps the transition time of a condition whose status is the same, and the conditions of others', async () => {
  const foreign = {
    type: 'Reviewed',
    status: 'True' as const,
    lastTransitionTime: before,
    reason: 'ByHand',
    message: '',
  }
  const { observedGeneration, conditions } = acceptedStatus(2)
  const status = { observedGeneration, conditions: [foreign, ...conditions] }
  const { reporter, requests } = await openReporter()
  reporter.report([refuse(createPolicy('one', {}, status))])
  await eventually(() => expect(requests.length).toBeGreaterThan(0))
  expect(requests[0]?.body).toMatchObject({
    status: {
      observedGeneration: 3,
      conditions: [
        { type: 'Accepted', status: 'False', lastTransitionTime: expect.not.stringMatching(before) },
        { type: 'Conflict', status: 'False', lastTransitionTime: before, observedGeneration: 3 },
        foreign,
      ],
    },
  })
})

it('replaces a status that is none', async () => {
  const { reporter, requests } = await openReporter()
  reporter.report([accept(createPolicy('one', {}, { conditions: 'yes' }))])
  await eventually(() => expect(requests).toHaveLength(1))
})

it('does not write again for a report that is older than the status', async () => {
  const { reporter, requests } = await openReporter()
  reporter.report([accept(createPolicy('one'))])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(300)
  reporter.report([accept(createPolicy('one'))])
  await setTimeout(100)
  expect(requests).toHaveLength(1)
  reporter.report([refuse(createPolicy('one'))])
  await eventually(() => expect(getNames(requests)).toHaveLength(2))
  expect(requests[1]?.body).toMatchObject({ metadata: { resourceVersion: '11' } })
})

it('cuts a long message', async () => {
  const { reporter, requests } = await openReporter()
  reporter.report([refuse(createPolicy('one'), 'x'.repeat(50_000))])
  await eventually(() => expect(requests.length).toBeGreaterThan(0))
  expect(JSON.stringify(requests[0]?.body).length).toBeLessThan(5_000)
})
