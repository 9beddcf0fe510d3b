import { expect, it } from 'vitest'
import { createDelegation, createResource } from './reviewed-resources.ts'
import {
  forbidden,
  scriptCluster,
  sendNamespace,
  tooLarge,
  unavailable,
  watchCluster,
} from './watched-policies.ts'
import { eventually } from '../../../support/eventually.ts'

function createGrant(name: string, user: string, metadata: Readonly<Record<string, unknown>> = {}) {
  const rule = { id: 'reads', effect: 'allow', subjects: { users: [user] }, operations: ['read'] }
  return createResource(name, { namespace: ['prod', 'sales'], rules: [rule] }, metadata)
}

const delegation = createDelegation({
  subjects: { ...createDelegation().subjects, users: ['alice', 'robin', 'carol'] },
})

it('the first policies are in force at the start, and changes later', async () => {
  const { cluster, client } = await scriptCluster(createGrant('p', 'alice'))
  const { isAllowed, reports, connects } = await watchCluster({ client }, delegation)
  expect(isAllowed('alice')).toBe(true)
  await eventually(() => connects.length > 0)
  cluster.replace(createGrant('p', 'robin', { generation: 2, resourceVersion: '2' }))
  await eventually(() => isAllowed('robin'))
  expect(isAllowed('alice')).toBe(false)
  expect(reports.at(-1)).toMatchObject([
    {
      resource: { metadata: { generation: 2 } },
      reason: 'Accepted',
    },
  ])
})

it.each(['list', 'namespace'] as const)(
  'a start without the %s fails, and says where and why',
  async (part) => {
    const { cluster, client } = await scriptCluster(createGrant('p', 'alice'))
    cluster[part] = unavailable
    await expect(watchCluster({ client }, delegation, 1_000)).rejects.toThrow(
      'accesspolicies/team-a: cannot be loaded within 1000 ms: the API server returned status 503: as scripted',
    )
  },
)

it.each([
  ['has more policies than can be read', tooLarge, 'is larger than'],
  ['cannot be read, as its roles are gone', forbidden, 'status 403'],
])('a delegated Kubernetes namespace that %s holds back no start', async (_reason, list, message) => {
  const { cluster, client } = await scriptCluster()
  cluster.list = list
  const { isAllowed, errors } = await watchCluster({ client }, delegation)
  expect(isAllowed('alice')).toBe(false)
  expect(errors[0]).toContain(message)
})

it('a Kubernetes namespace of the platform that cannot be read holds back the start: it may deny', async () => {
  const { cluster, client } = await scriptCluster()
  cluster.list = forbidden
  const platform = { platform: true, name: 'team-a' } as const
  await expect(watchCluster({ client }, platform, 500)).rejects.toThrow('cannot be loaded within 500 ms')
})

it('more delegated policies than can be read keep no grant in force', async () => {
  const { cluster, client } = await scriptCluster(createGrant('p', 'alice'))
  const { isAllowed, connects } = await watchCluster({ client }, delegation)
  await eventually(() => connects.length > 0)
  cluster.list = tooLarge
  cluster.report()
  await eventually(() => !isAllowed('alice'))
})

it('a Kubernetes namespace with another uid grants nothing from the start', async () => {
  const { cluster, client } = await scriptCluster(createGrant('p', 'alice'))
  cluster.namespace = sendNamespace('uid of another one')
  const { isAllowed, reports } = await watchCluster({ client }, delegation)
  expect(isAllowed('alice')).toBe(false)
  expect(reports.at(-1)).toMatchObject([{ reason: 'NamespaceReplaced' }])
})

it('a deletion takes effect at once even if the Kubernetes namespace cannot be read; a new grant waits', async () => {
  const { cluster, client } = await scriptCluster(createGrant('p', 'alice'))
  const { isAllowed, connects, errors } = await watchCluster({ client }, delegation)
  await eventually(() => connects.length > 0)
  cluster.namespace = unavailable
  cluster.replace(createGrant('q', 'robin', { resourceVersion: '2' }))
  await eventually(() => !isAllowed('alice'))
  expect(isAllowed('robin')).toBe(false)
  expect(errors[0]).toContain('503')
  const before = connects.length
  cluster.namespace = sendNamespace('uid-of-team-a')
  await eventually(() => isAllowed('robin'))
  expect(connects.length).toBeGreaterThan(before)
})

const terminating = {
  resourceVersion: '2',
  deletionTimestamp: '2026-01-01T00:00:01Z',
  finalizers: ['x/y'],
}

it.each([
  ['read', true],
  ['not read', false],
])('a policy whose deletion waits for a finalizer grants nothing, its namespace %s', async (_, isRead) => {
  const { cluster, client } = await scriptCluster(createGrant('p', 'alice'))
  const { isAllowed, connects, reports } = await watchCluster({ client }, delegation)
  await eventually(() => connects.length > 0)
  if (!isRead) cluster.namespace = unavailable
  cluster.replace(createGrant('p', 'alice', terminating))
  await eventually(() => !isAllowed('alice'))
  if (isRead) await eventually(() => reports.at(-1)?.[0]?.reason === 'Terminating')
})

it('a changed status is reported with the newest resource, without a new set of policies', async () => {
  const { cluster, client } = await scriptCluster(createGrant('p', 'alice'))
  const { source, reports, connects } = await watchCluster({ client }, delegation)
  await eventually(() => connects.length > 0)
  const before = source.current()
  cluster.replace({
    ...createGrant('p', 'alice', { resourceVersion: '2' }),
    status: { conditions: [] },
  })
  await eventually(() => reports.at(-1)?.[0]?.resource.metadata.resourceVersion === '2')
  expect(source.current()).toBe(before)
})

it('until a changed policy is reviewed, its result is that of the generation before', async () => {
  const { cluster, client } = await scriptCluster(createGrant('p', 'alice'))
  const { reports, connects } = await watchCluster({ client }, delegation)
  await eventually(() => connects.length > 0)
  cluster.replace(createGrant('p', 'mallory', { generation: 2, resourceVersion: '2' }))
  await eventually(() => reports.at(-1)?.[0]?.reason === 'NotDelegated')
  const results = reports.flat().map(({ resource, generation, reason }) => {
    return `${resource.metadata.generation} ${generation} ${reason}`
  })
  expect(new Set(results)).toEqual(new Set(['1 1 Accepted', '2 1 Accepted', '2 2 NotDelegated']))
})

it('the order of policies does not depend on that of the list', async () => {
  const { client } = await scriptCluster(...['c', 'a', 'b'].map((name) => createGrant(name, 'alice')))
  const { source } = await watchCluster({ client }, delegation)
  expect(source.current().documents.map(({ name }) => name)).toEqual(['team-a/a', 'team-a/b', 'team-a/c'])
})
