import { expect, it, onTestFinished } from 'vitest'
import type { PolicyNamespace } from '../../../../src/config/policy-settings.ts'
import type { KubernetesObject } from '../../../../src/kubernetes/kubernetes-client.ts'
import { builtInVocabulary } from '../../../../src/policy/language/policy-vocabulary.ts'
import {
  watchKubernetesPolicies,
  type ResourceResult,
} from '../../../../src/policy/source/kubernetes/kubernetes-policies.ts'
import { combineSources } from '../../../../src/policy/source/policy-source.ts'
import {
  createEvent,
  isWatch,
  sendEvents,
  sendJson,
  sendList,
  sendStatus,
  startScriptedApiServer,
  type Script,
} from '../../../lib/kubernetes/scripted-api-server.ts'
import { createAuthorizationRequest, createCaller } from '../../policy-builder.ts'
import { createDelegation, createResource } from './reviewed-resources.ts'
import { eventually } from '../../../support/eventually.ts'

/** An API server with one Kubernetes namespace, whose responses a test changes. */
interface ScriptedCluster {
  /** Responses to the list of policies, and to reading the Kubernetes namespace. */
  list: Script
  namespace: Script
  /** Replaces the policies, and reports a change to all watches. */
  replace(...resources: readonly KubernetesObject[]): void
  /** Reports a change to all watches. */
  report(): void
}

function sendNamespace(uid: string): Script {
  return sendJson({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a', uid } })
}

/** Starts an API server with these policies in the Kubernetes namespace `team-a`. */
async function scriptCluster(...resources: readonly KubernetesObject[]) {
  const watches: { write(text: string): unknown }[] = []
  const cluster: ScriptedCluster = {
    list: sendList('1', ...resources),
    namespace: sendNamespace('uid-of-team-a'),
    replace(...present) {
      cluster.list = sendList('2', ...present)
      cluster.report()
    },
    report() {
      for (const watch of watches) watch.write(createEvent('MODIFIED', {}))
    },
  }
  const server = await startScriptedApiServer((request, response) => {
    if (!request.path.startsWith('/apis/catalog-gateway.dev/')) cluster.namespace(request, response)
    else if (isWatch(request)) {
      sendEvents()(request, response)
      watches.push(response)
    } else cluster.list(request, response)
  })
  return { cluster, client: server.client }
}

/** Watches the policies of a scripted cluster; closed after the test. */
async function watchCluster(
  { client }: Pick<Awaited<ReturnType<typeof scriptCluster>>, 'client'>,
  namespace: PolicyNamespace,
  startTimeoutMs = 10_000,
) {
  const errors: string[] = []
  const connects: string[] = []
  const reports: (readonly ResourceResult[])[] = []
  const resources = watchKubernetesPolicies({
    client,
    namespaces: [namespace],
    vocabulary: builtInVocabulary,
    onConnect: (name) => connects.push(name),
    onError: (_, { message }) => errors.push(message),
    onResults: (results) => reports.push(results),
    startTimeoutMs,
    timing: { minDelayMs: 50, maxDelayMs: 50 },
    // Under load, one update may take many seconds.
  })
  const source = await combineSources(new Map([[undefined, resources]]))
  onTestFinished(() => source.close())
  function isAllowed(user: string): boolean {
    const request = createAuthorizationRequest(createCaller(user), 'ListTables', 'namespace', [
      'prod',
      'sales',
    ])
    return source.current().decide(request).allowed
  }
  return { source, errors, connects, reports, isAllowed }
}

const unavailable = sendStatus(503, 'as scripted')

/** A list that is larger than the client reads. */
const tooLarge: Script = (_, response) => response.end(' '.repeat(17 * 1024 * 1024))

const forbidden = sendStatus(403, 'as scripted')

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
