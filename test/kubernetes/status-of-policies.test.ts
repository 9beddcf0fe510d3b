import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { createKubernetesClient, type KubernetesClient } from '../../src/lib/kubernetes/kubernetes-client.ts'
import type { KubernetesError } from '../../src/lib/kubernetes/kubernetes-error.ts'
import type { KubernetesObject } from '../../src/lib/kubernetes/kubernetes-object.ts'
import { holdLease } from '../../src/lib/kubernetes/leader-lease.ts'
import { watchResources } from '../../src/lib/kubernetes/watch-resources.ts'
import type { ResourceResult } from '../../src/policy/source/kubernetes/resource-status.ts'
import { createStatusReporter } from '../../src/policy/source/kubernetes/status-reporter.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'
import { eventually } from '../support/eventually.ts'

const policiesPath = '/apis/catalog-gateway.dev/v1/namespaces/team-a/accesspolicies'
const definitionFile = new URL('../../helm/catalog-gateway/files/accesspolicies.yaml', import.meta.url)

let server: ApiServer
let client: KubernetesClient

beforeAll(async () => {
  server = await startApiServer()
  const { client: administrator, url, caFile, folder } = server
  await administrator.apply(parse(await readFile(definitionFile, 'utf8')))
  await administrator.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } })
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, await createAccount())
  client = createKubernetesClient({ apiServer: url, caFile, tokenFile })
  await eventually(() => administrator.get(policiesPath))
}, 180_000)

afterAll(async () => {
  await client.close()
  await server.close()
})

/** Creates a service account with no other permissions than a gateway needs, and returns its token. */
async function createAccount(): Promise<string> {
  const { client: administrator } = server
  const metadata = { name: 'gateway', namespace: 'team-a' }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  await administrator.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata })
  await administrator.apply({
    apiVersion,
    kind: 'Role',
    metadata,
    rules: [
      { apiGroups: ['catalog-gateway.dev'], resources: ['accesspolicies'], verbs: ['list', 'watch'] },
      { apiGroups: ['catalog-gateway.dev'], resources: ['accesspolicies/status'], verbs: ['patch'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'get', 'patch'] },
    ],
  })
  await administrator.apply({
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'gateway' },
    subjects: [{ kind: 'ServiceAccount', ...metadata }],
  })
  const path = '/api/v1/namespaces/team-a/serviceaccounts/gateway/token'
  const { status } = await administrator.post<{ readonly status: { readonly token: string } }>(path, {
    spec: {},
  })
  return status.token
}

/** Refuses policies with a condition. */
function judge(resource: KubernetesObject): ResourceResult {
  const isRefused = JSON.stringify(resource['rules']).includes('when')
  return {
    resource,
    accepted: isRefused
      ? { reason: 'Invalid', message: 'line 9: expected no condition' }
      : { reason: 'Accepted', message: 'the policy is in force' },
    conflict: { reason: 'NoConflict', message: '' },
  }
}

/** One of the replicas of a gateway. */
function startReplica(identity: string) {
  const errors: KubernetesError[] = []
  const onError = (error: KubernetesError): unknown => errors.push(error)
  const timing = { durationMs: 6_000, renewDeadlineMs: 4_000, retryMs: 200 }
  const lease = holdLease({ client, namespace: 'team-a', name: 'policies', identity, onError, timing })
  const reporter = createStatusReporter({ client, lease, onError, retryMs: 300 })
  const watch = watchResources({
    client,
    path: policiesPath,
    onChange: (resources) => reporter.report(resources.map(judge)),
    onError,
  })
  const close = async (): Promise<void> => {
    watch.close()
    await reporter.close()
    await lease.close()
  }
  onTestFinished(close)
  return { errors, lease, close }
}

function createPolicy(name: string, when?: string) {
  const rule = {
    id: 'read',
    effect: 'allow',
    subjects: { any: true },
    operations: ['read'],
    ...(when && { when }),
  }
  const metadata = { name, namespace: 'team-a' }
  return {
    apiVersion: 'catalog-gateway.dev/v1',
    kind: 'AccessPolicy',
    metadata,
    namespace: ['prod'],
    rules: [rule],
  }
}

interface Condition {
  readonly type: string
  readonly lastTransitionTime: string
}

interface Policy {
  readonly metadata: { readonly generation: number; readonly resourceVersion: string }
  readonly status: { readonly observedGeneration: number; readonly conditions: readonly Condition[] }
}

it('one replica writes the status of each policy, once for each change', async () => {
  const { client: administrator } = server
  const replicas = [startReplica('a'), startReplica('b')]
  const get = (name: string) => administrator.get<Policy>(`${policiesPath}/${name}`)
  await administrator.post(policiesPath, createPolicy('good'))
  await administrator.post(policiesPath, createPolicy('bad', 'mode == "x"'))
  await eventually(async () =>
    expect(await get('good')).toMatchObject({
      metadata: { generation: 1 },
      status: {
        observedGeneration: 1,
        conditions: [
          { type: 'Accepted', status: 'True', reason: 'Accepted', observedGeneration: 1 },
          { type: 'Conflict', status: 'False', reason: 'NoConflict', observedGeneration: 1 },
        ],
      },
    }),
  )
  await eventually(async () =>
    expect(await get('bad')).toMatchObject({
      status: {
        conditions: [{ status: 'False', reason: 'Invalid', message: 'line 9: expected no condition' }, {}],
      },
    }),
  )
  const [good, bad] = [await get('good'), await get('bad')]
  await setTimeout(1_000)
  // Neither the own status nor another replica causes further writes.
  expect(await get('good')).toEqual(good)
  expect(await get('bad')).toEqual(bad)

  const first = replicas.find(({ lease }) => lease.isHolder())
  await first?.close()
  const { rules } = createPolicy('good', 'mode == "x"')
  await administrator.patch(`${policiesPath}/good`, { rules })
  await eventually(async () =>
    expect(await get('good')).toMatchObject({
      status: { observedGeneration: 2, conditions: [{ status: 'False' }, {}] },
    }),
  )
  const [, conflict] = (await get('good')).status.conditions
  expect(conflict?.lastTransitionTime).toBe(good.status.conditions[1]?.lastTransitionTime)
  expect(replicas.flatMap(({ errors }) => errors)).toEqual([])
}, 120_000)

it('a refused policy has one event', async () => {
  startReplica('c')
  await server.client.post(policiesPath, createPolicy('events', 'mode == "x"'))
  const list = async () => {
    const path = '/apis/events.k8s.io/v1/namespaces/team-a/events'
    const { items } = await server.client.get<{ readonly items: readonly RegardingEvent[] }>(path)
    return items.filter(({ regarding }) => regarding.name === 'events')
  }
  await eventually(async () => expect(await list()).toHaveLength(1))
  expect((await list())[0]).toMatchObject({
    type: 'Warning',
    reason: 'Invalid',
    note: 'line 9: expected no condition',
    reportingController: 'catalog-gateway.dev/gateway',
    regarding: { kind: 'AccessPolicy', apiVersion: 'catalog-gateway.dev/v1' },
  })
  await server.client.patch(`${policiesPath}/events`, { metadata: { labels: { team: 'a' } } })
  await setTimeout(1_000)
  expect(await list()).toHaveLength(1)
}, 120_000)

interface RegardingEvent {
  readonly regarding: { readonly name: string }
}

it('policies that are deleted meanwhile cause no error', async () => {
  const { errors, lease } = startReplica('d')
  await eventually(() => expect(lease.isHolder()).toBe(true))
  const names = Array.from({ length: 30 }, (_, index) => `short-lived-${index}`)
  await Promise.all(
    names.map(async (name) => {
      await server.client.post(policiesPath, createPolicy(name, 'mode == "x"'))
      await server.client.delete(`${policiesPath}/${name}`)
    }),
  )
  await setTimeout(1_000)
  expect(errors).toEqual([])
}, 120_000)
