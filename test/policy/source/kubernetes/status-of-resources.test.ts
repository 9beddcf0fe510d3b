import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { KubernetesError, KubernetesObject } from '../../../../src/kubernetes/kubernetes-client.ts'
import type { ResourceResult } from '../../../../src/policy/source/kubernetes/kubernetes-policies.ts'
import { createStatusWriter } from '../../../../src/policy/source/kubernetes/status-writer.ts'
import {
  inOrder,
  sendJson,
  sendStatus,
  startScriptedApiServer,
  type ReceivedRequest,
  type Script,
} from '../../../lib/kubernetes/scripted-api-server.ts'
import { eventually } from '../../../support/eventually.ts'

/** Reports to a scripted API server. */
async function openWriter(script: Script = storeStatus, intervalMs = 60_000) {
  const server = await startScriptedApiServer(script)
  const errors: KubernetesError[] = []
  const writer = createStatusWriter({
    client: server.client,
    onError: (error) => errors.push(error),
    intervalMs,
  })
  onTestFinished(() => writer.close())
  return { ...server, writer, errors }
}

/** Responds with the resource that has the status, in another version. */
const storeStatus: Script = (request, response) => {
  const name = request.path.split('/').at(-2) ?? ''
  const { status } = request.body as { readonly status: object }
  sendJson(createPolicy(name, { resourceVersion: '11' }, status))(request, response)
}

/** Names of the resources whose status was written, in alphabetical order. */
function getNames(requests: readonly ReceivedRequest[]): readonly string[] {
  return requests.map(({ path }) => path.split('/').at(-2) ?? '').toSorted()
}

function createPolicy(
  name: string,
  metadata: Partial<KubernetesObject['metadata']> = {},
  status?: object,
): KubernetesObject {
  return {
    apiVersion: 'catalog-gateway.dev/v1',
    kind: 'AccessPolicy',
    metadata: {
      namespace: 'team-a',
      name,
      uid: `uid-of-${name}`,
      generation: 3,
      resourceVersion: '10',
      ...metadata,
    },
    ...(status && { status }),
  }
}

function accept(resource: KubernetesObject): ResourceResult {
  return {
    resource,
    generation: resource.metadata.generation,
    reason: 'Accepted',
    message: 'the policy is in force',
  }
}

function refuse(resource: KubernetesObject, message = 'expected a list'): ResourceResult {
  return { ...accept(resource), reason: 'Invalid', message }
}

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

const names = Array.from({ length: 12 }, (_, index) => `policy-${index}`)
const soon = 50
const results = names.map((name) => accept(createPolicy(name)))

it.each([404, 409])('tries again after %i, which is no failure', async (status) => {
  const { writer, requests, errors } = await openWriter(inOrder(sendStatus(status), storeStatus), soon)
  writer.report([accept(createPolicy('one'))])
  await eventually(() => expect(requests).toHaveLength(2))
  await setTimeout(150)
  expect(getNames(requests)).toEqual(['one', 'one'])
  expect(errors).toEqual([])
})

const breakConnection: Script = (_, response) => response.destroy()

it.each<readonly [string, Script]>([
  ['is unavailable', sendStatus(503)],
  ['has too many requests', sendStatus(429)],
  ['does not respond', breakConnection],
])('pauses while the API server %s', async (_, script) => {
  const { writer, requests, errors } = await openWriter(script)
  writer.report(results)
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(200)
  expect(requests).toHaveLength(1)
  expect(errors).toHaveLength(1)
})

it.each([
  ['the API server is available again', Array.from({ length: 2 }, () => sendStatus(503))],
  ['the roles are there', names.map(() => sendStatus(403))],
])('writes what is missing when %s', async (_, refusals) => {
  const { writer, requests } = await openWriter(inOrder(...refusals, storeStatus), soon)
  writer.report(results)
  await eventually(() => expect(requests).toHaveLength(refusals.length + names.length))
  expect(getNames(requests.slice(refusals.length))).toEqual(names.toSorted())
})

const forbidden = names.map((name) => accept(createPolicy(name, { namespace: 'team-b', uid: `b/${name}` })))
const forbidTeamB: Script = (request, response) => {
  const script = request.path.includes('team-b') ? sendStatus(403) : storeStatus
  script(request, response)
}

it('writes the status of other resources if some are refused', async () => {
  const { writer, requests, errors } = await openWriter(forbidTeamB)
  writer.report([...forbidden, ...results])
  await eventually(() => expect(requests).toHaveLength(2 * names.length))
  await setTimeout(300)
  expect(errors).toMatchObject(forbidden.map(() => ({ status: 403 })))
  // A report does not repeat failures at once.
  writer.report([...forbidden, ...results])
  await setTimeout(100)
  expect(requests).toHaveLength(2 * names.length)
})

it('sends one request at a time, and none after it is closed', async () => {
  const closed: Promise<unknown>[] = []
  const { writer, requests, errors } = await openWriter((_, response) => {
    closed.push(once(response, 'close'))
  })
  writer.report(results)
  await eventually(() => expect(requests).toHaveLength(1))
  await setTimeout(100)
  expect(requests).toHaveLength(1)
  await writer.close()
  await Promise.all(closed)
  expect(requests).toHaveLength(1)
  expect(errors).toEqual([])
})
