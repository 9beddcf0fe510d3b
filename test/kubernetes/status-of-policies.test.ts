import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import {
  createKubernetesClient,
  type KubernetesClient,
  type KubernetesError,
  type KubernetesObject,
} from '../../src/kubernetes/kubernetes-client.ts'
import { watchResources } from '../../src/kubernetes/watch-resources.ts'
import type { ResourceResult } from '../../src/policy/source/kubernetes/kubernetes-policies.ts'
import { createStatusWriter } from '../../src/policy/source/kubernetes/status-writer.ts'
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
function review(resource: KubernetesObject): ResourceResult {
  const isRefused = JSON.stringify(resource['rules']).includes('when')
  return {
    resource,
    generation: resource.metadata.generation,
    ...(isRefused
      ? { reason: 'Invalid', message: 'expected no condition' }
      : { reason: 'Accepted', message: 'the policy is in force' }),
    conflict: undefined,
  }
}

/** One of the replicas of a gateway, which counts its writes. */
function startReplica() {
  const errors: KubernetesError[] = []
  const onError = (error: KubernetesError): unknown => errors.push(error)
  let writes = 0
  const counting: KubernetesClient = {
    ...client,
    apply(...parameters) {
      writes += 1
      return client.apply(...parameters)
    },
  }
  const writer = createStatusWriter({ client: counting, onError, intervalMs: 3_000 })
  const watch = watchResources({
    client,
    path: policiesPath,
    onList: (resources) => writer.report(resources.map(review)),
    onError,
  })
  const close = async (): Promise<void> => {
    watch.close()
    await writer.close()
  }
  onTestFinished(close)
  return { errors, countWrites: () => writes, close }
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

const get = (name: string): Promise<Policy> => server.client.get<Policy>(`${policiesPath}/${name}`)

it('replicas that agree write the same status, once for each change', async () => {
  const { client: administrator } = server
  const replicas = [startReplica(), startReplica(), startReplica()]
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
      status: { conditions: [{ status: 'False', reason: 'Invalid', message: 'expected no condition' }, {}] },
    }),
  )
  await setTimeout(1_500)
  const [good, bad] = [await get('good'), await get('bad')]
  await setTimeout(1_000)
  expect(await get('good')).toEqual(good)
  expect(await get('bad')).toEqual(bad)
  expect(replicas.reduce((count, { countWrites }) => count + countWrites(), 0)).toBeLessThanOrEqual(12)

  await replicas[0]?.close()
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

it('a change of metadata right after the creation delays no status', async () => {
  startReplica()
  await server.client.post(policiesPath, createPolicy('labelled'))
  for (let index = 0; index < 5; index++) {
    await setTimeout(20)
    await server.client.patch(`${policiesPath}/labelled`, { metadata: { labels: { index: `${index}` } } })
  }
  await eventually(async () => expect((await get('labelled')).status.observedGeneration).toBe(1))
}, 120_000)
