import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { accept, createPolicy, getNames, openWriter, refuse } from './report-results.ts'
import { eventually } from '../../../support/eventually.ts'

const before = '2026-01-02T03:04:05Z'

/** The status that a resource has after it was accepted. */
function acceptedStatus(observedGeneration: number, ...others: readonly object[]) {
  const common = { observedGeneration, lastTransitionTime: before }
  return {
    observedGeneration,
    conditions: [
      {
        ...common,
        type: 'Accepted',
        status: 'True',
        reason: 'Accepted',
        message: 'the policy is in force',
      },
      ...others,
    ],
  }
}

const now = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)

it('applies the conditions of the generation that was reviewed', async () => {
  const { writer, requests } = await openWriter()
  writer.report([accept(createPolicy('one'))])
  await eventually(() => expect(requests).toHaveLength(1))
  expect(requests[0]).toMatchObject({
    method: 'PATCH',
    path: '/apis/catalog-gateway.dev/v1/namespaces/team-a/accesspolicies/one/status',
  })
  expect(String(requests[0]?.query)).toBe('fieldManager=catalog-gateway&force=true')
  const { conditions, observedGeneration } = acceptedStatus(3)
  expect(requests[0]?.body).toEqual({
    apiVersion: 'catalog-gateway.dev/v1',
    kind: 'AccessPolicy',
    metadata: { namespace: 'team-a', name: 'one', uid: 'uid-of-one' },
    status: {
      observedGeneration,
      conditions: conditions.map((condition) => ({ ...condition, lastTransitionTime: now })),
    },
  })
})

it('writes nothing if the conditions say the same', async () => {
  const { writer, requests } = await openWriter()
  writer.report([accept(createPolicy('one', {}, acceptedStatus(3))), accept(createPolicy('two'))])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(150)
  expect(getNames(requests)).toEqual(['two'])
})

it('writes nothing about a generation that was not reviewed', async () => {
  const { writer, requests } = await openWriter()
  const reviewed = accept(createPolicy('one'))
  writer.report([
    { ...reviewed, resource: createPolicy('one', { generation: 4 }) },
    accept(createPolicy('two')),
  ])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(150)
  expect(getNames(requests)).toEqual(['two'])
  writer.report([refuse(createPolicy('one', { generation: 4 }))])
  await eventually(() => expect(requests).toHaveLength(2))
  expect(requests[1]?.body).toMatchObject({ status: { observedGeneration: 4 } })
})

it('writes the time of a transition, and leaves the conditions of others', async () => {
  const foreign = { type: 'Reviewed', status: 'True', lastTransitionTime: before, reason: 'R', message: '' }
  const { writer, requests } = await openWriter()
  writer.report([refuse(createPolicy('one', {}, acceptedStatus(2, foreign)))])
  await eventually(() => expect(requests.length).toBeGreaterThan(0))
  expect(requests[0]?.body).toMatchObject({
    status: {
      conditions: [
        { type: 'Accepted', status: 'False', lastTransitionTime: expect.not.stringMatching(before) },
      ],
    },
  })
  writer.report([accept(createPolicy('two', {}, acceptedStatus(3, foreign)))])
  await setTimeout(150)
  expect(requests).toHaveLength(1)
})

it.each<[what: string, status: object]>([
  ['that is none', { conditions: 'yes' }],
  ['of an older generation, which another gateway wrote', acceptedStatus(2)],
])('replaces a status %s at once', async (_what, status) => {
  const { writer, requests } = await openWriter()
  writer.report([refuse(createPolicy('one', {}, status))])
  await eventually(() => expect(requests).toHaveLength(1))
})

it('does not write again for a report that is older than the status', async () => {
  const { writer, requests } = await openWriter()
  writer.report([accept(createPolicy('one'))])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(300)
  writer.report([accept(createPolicy('one'))])
  await setTimeout(100)
  expect(requests).toHaveLength(1)
})

it('a changed opinion of its own replaces the last one at once', async () => {
  const { writer, requests } = await openWriter()
  writer.report([accept(createPolicy('one'))])
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(100)
  writer.report([refuse(createPolicy('one', {}, acceptedStatus(3)))])
  await eventually(() => expect(requests).toHaveLength(2))
  await setTimeout(100)
  const seen = createPolicy('two', {}, acceptedStatus(3))
  writer.report([accept(seen)])
  await setTimeout(0)
  writer.report([refuse(seen)])
  await eventually(() => expect(getNames(requests)).toEqual(['one', 'one', 'two']))
})

it('replaces the status of another gateway about the same generation once between two reviews', async () => {
  const { writer, requests } = await openWriter(undefined, 600)
  const reportedAt = performance.now()
  for (const resourceVersion of ['1', '2']) {
    writer.report([refuse(createPolicy('one', { resourceVersion }, acceptedStatus(3)))])
    await setTimeout(150)
    expect(requests).toHaveLength(1)
  }
  await eventually(() => expect(requests).toHaveLength(2))
  expect(performance.now() - reportedAt).toBeGreaterThan(500)
})
