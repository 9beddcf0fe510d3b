import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { parse } from 'yaml'
import { policyKubernetesSchema } from '../../src/config/policy-settings.ts'
import { projectFolder } from '../e2e/built-program.ts'
import { openGateway, type TestedGateway } from '../gateway/support/open-gateway.ts'
import { startRecordingUpstream } from '../gateway/support/recording-upstream.ts'
import { eventually } from '../support/eventually.ts'
import type { KubernetesObject } from './support/api-client.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'

let cluster: PolicyCluster
let teamA: object
let teamB: object
let uidOfTeamA = ''

const platform = { name: 'catalog-system', platform: true }

/** Grants `sam` to read the namespace `prod.sales`. */
const grant = createGrant('sam')

function createGrant(user: string, namespace: readonly string[] = ['prod', 'sales']) {
  const rule = { id: 'reads', effect: 'allow', subjects: { users: [user] }, operations: ['read'] }
  return { namespace, rules: [rule] }
}

function delegate(name: string, uid: string, catalogNamespace: readonly string[]): object {
  return { name, uid, catalogNamespaces: [catalogNamespace], subjects: { users: ['sam', 'kim'] } }
}

beforeAll(async () => {
  cluster = await startPolicyCluster()
  await cluster.createNamespace('catalog-system')
  uidOfTeamA = await cluster.createNamespace('team-a')
  teamA = delegate('team-a', uidOfTeamA, ['prod', 'sales'])
  teamB = delegate('team-b', await cluster.createNamespace('team-b'), ['prod', 'finance'])
}, 180_000)

afterAll(() => cluster?.close())

async function open(namespaces: readonly object[] = [platform, teamA, teamB]): Promise<TestedGateway> {
  return cluster.openGateway(namespaces, ['sam', 'kim'])
}

async function mayAsk(gateway: TestedGateway, user: string, namespace = 'prod$sales'): Promise<boolean> {
  const { status } = await gateway.post(`/v1/namespace/${namespace}/exists`, { as: user, body: {} })
  return status === 200
}

async function expectEventually(
  gateway: TestedGateway,
  user: string,
  isAllowed: boolean,
  namespace?: string,
) {
  await eventually(async () => expect(await mayAsk(gateway, user, namespace)).toBe(isAllowed))
}

/** Resolves with the condition when the status is that of the present generation. */
async function readCondition(namespace: string, name: string, type = 'Accepted') {
  return eventually(async () => {
    const { metadata, status } = await cluster.readPolicy(namespace, name)
    expect(status?.observedGeneration).toBe(metadata['generation'])
    return status?.conditions.find((condition) => condition.type === type)
  })
}

async function readMetrics(gateway: TestedGateway): Promise<string> {
  return (await fetch(`${gateway.adminUrl}/metrics`)).text()
}

it('two gateways apply a delegated policy, an edit and a deletion, and write its status', async () => {
  const gateways = [await open(), await open()]
  await cluster.applyPolicy('team-a', 'readers', grant)
  for (const gateway of gateways) await expectEventually(gateway, 'sam', true)
  expect(await readCondition('team-a', 'readers')).toMatchObject({ status: 'True', reason: 'Accepted' })
  for (const gateway of gateways) expect(await mayAsk(gateway, 'sam', 'prod$finance')).toBe(false)

  await cluster.applyPolicy('team-a', 'readers', createGrant('kim'))
  for (const gateway of gateways) {
    await expectEventually(gateway, 'kim', true)
    expect(await mayAsk(gateway, 'sam')).toBe(false)
  }
  await cluster.deletePolicy('team-a', 'readers')
  for (const gateway of gateways) await expectEventually(gateway, 'kim', false)
})

it('a policy that a finalizer keeps grants nothing, and its status says that it is being deleted', async () => {
  const gateway = await open()
  await cluster.applyPolicy('team-a', 'kept', grant)
  await expectEventually(gateway, 'sam', true)
  const path = '/apis/catalog-gateway.dev/v1/namespaces/team-a/accesspolicies/kept'
  await cluster.client.patch(path, { metadata: { finalizers: ['example.com/cleanup'] } })
  await cluster.deletePolicy('team-a', 'kept')
  await expectEventually(gateway, 'sam', false)
  await eventually(async () =>
    expect(await readCondition('team-a', 'kept')).toMatchObject({ status: 'False', reason: 'Terminating' }),
  )
  expect(await readMetrics(gateway)).toContain('catalog_gateway_policy_resources{state="refused"} 0')
  await cluster.client.patch(path, { metadata: { finalizers: [] } })
})

it('a grant on the namespace of another team is refused, and a forged status changes nothing', async () => {
  const gateway = await open()
  await cluster.applyPolicy('team-a', 'outside', createGrant('sam', ['prod', 'finance']))
  expect(await readCondition('team-a', 'outside')).toMatchObject({
    status: 'False',
    reason: 'NotDelegated',
    message: 'namespace: ["prod","finance"] is not delegated; expected it in ["prod","sales"]',
  })
  const forged = {
    type: 'Accepted',
    status: 'True',
    reason: 'Accepted',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  await cluster.client.patch('/apis/catalog-gateway.dev/v1/namespaces/team-a/accesspolicies/outside/status', {
    status: { conditions: [forged] },
  })
  // All statuses are reviewed every 30 seconds.
  await vi.waitFor(
    async () => expect(await readCondition('team-a', 'outside')).toMatchObject({ status: 'False' }),
    { timeout: 40_000, interval: 500 },
  )
  expect(await mayAsk(gateway, 'sam', 'prod$finance')).toBe(false)
  expect(await readMetrics(gateway)).toContain('catalog_gateway_policy_resources{state="refused"} 1')
  await cluster.deletePolicy('team-a', 'outside')
})

it('a Kubernetes namespace that was deleted and created again by another grants nothing', async () => {
  const gateway = await open()
  await cluster.applyPolicy('team-a', 'readers', grant)
  await expectEventually(gateway, 'sam', true)
  await cluster.deleteNamespace('team-a')
  await expectEventually(gateway, 'sam', false)
  await eventually(async () => {
    expect(await cluster.createNamespace('team-a')).not.toBe(uidOfTeamA)
  })
  await cluster.applyPolicy('team-a', 'readers', grant)
  expect(await readCondition('team-a', 'readers')).toMatchObject({
    status: 'False',
    reason: 'NamespaceReplaced',
  })
  expect(await mayAsk(gateway, 'sam')).toBe(false)
  await cluster.deletePolicy('team-a', 'readers')
})

it('while the API server is down the last policies stay, with a warning, and changes arrive afterwards', async () => {
  const gateway = await open([platform, teamB])
  await cluster.applyPolicy('team-b', 'readers', createGrant('sam', ['prod', 'finance']))
  await expectEventually(gateway, 'sam', true, 'prod$finance')
  await cluster.stop()
  try {
    await eventually(async () => {
      const metrics = await readMetrics(gateway)
      expect(metrics).toContain('catalog_gateway_policy_watch_connected{kubernetes_namespace="team-b"} 0')
    })
    const ready = await fetch(`${gateway.adminUrl}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([
      200,
      expect.stringContaining('not connected: catalog-system, team-b'),
    ])
    expect(await mayAsk(gateway, 'sam', 'prod$finance')).toBe(true)
  } finally {
    await cluster.start()
  }
  await cluster.deletePolicy('team-b', 'readers')
  await expectEventually(gateway, 'sam', false, 'prod$finance')
  await eventually(async () => {
    const metrics = await readMetrics(gateway)
    expect(metrics).toContain('catalog_gateway_policy_watch_connected{kubernetes_namespace="team-b"} 1')
  })
})

const group = 'catalog-gateway.dev'
const ownNamespace = 'catalog'

interface StoredPolicy extends KubernetesObject {
  readonly status?: {
    readonly observedGeneration: number
    readonly conditions: readonly {
      readonly type: string
      readonly status: string
      readonly reason: string
      readonly message: string
    }[]
  }
}

/** An API server with the definition of AccessPolicy resources, and an account with the least roles for a gateway. */
type PolicyCluster = Awaited<ReturnType<typeof preparePolicies>>

async function startPolicyCluster(): Promise<PolicyCluster> {
  const server = await startApiServer()
  try {
    return await preparePolicies(server)
  } catch (error) {
    await server.close()
    throw error
  }
}

async function preparePolicies(server: ApiServer) {
  const { client, folder } = server
  const definition = await readFile(
    join(projectFolder, 'helm/catalog-gateway/files/accesspolicies.yaml'),
    'utf8',
  )
  await client.apply(parse(definition) as KubernetesObject)
  await eventually(() => client.get(pathOf('default')))
  await client.apply(objectOf('v1', 'Namespace', ownNamespace))
  await client.apply(objectOf('v1', 'ServiceAccount', 'gateway'), ownNamespace)
  const tokenFile = join(folder, 'gateway-token')
  await writeFile(tokenFile, await createToken())

  async function grant(namespace: string, rules: readonly object[]): Promise<void> {
    const api = 'rbac.authorization.k8s.io'
    await client.apply({ ...objectOf(`${api}/v1`, 'Role', 'gateway'), rules }, namespace)
    await client.apply(
      {
        ...objectOf(`${api}/v1`, 'RoleBinding', 'gateway'),
        roleRef: { apiGroup: api, kind: 'Role', name: 'gateway' },
        subjects: [{ kind: 'ServiceAccount', name: 'gateway', namespace: ownNamespace }],
      },
      namespace,
    )
  }

  async function createToken(): Promise<string> {
    const path = `/api/v1/namespaces/${ownNamespace}/serviceaccounts/gateway/token`
    const { status } = await client.post<{ readonly status: { readonly token: string } }>(path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    })
    return status.token
  }

  return {
    ...server,
    /** Creates a Kubernetes namespace that the gateway may read, and returns its uid. */
    async createNamespace(name: string) {
      const { metadata } = await client.apply(objectOf('v1', 'Namespace', name))
      const policies = { apiGroups: [group], resources: ['accesspolicies'] }
      await grant(name, [
        { ...policies, verbs: ['get', 'list', 'watch'] },
        { ...policies, resources: ['accesspolicies/status'], verbs: ['patch'] },
        { apiGroups: [''], resources: ['namespaces'], resourceNames: [name], verbs: ['get'] },
      ])
      return String(metadata['uid'])
    },
    /** Deletes a Kubernetes namespace and all policies in it. */
    async deleteNamespace(name: string) {
      // No controller does it in this cluster.
      await client.delete(pathOf(name))
      await client.delete(`/api/v1/namespaces/${name}`)
      const namespace = { ...objectOf('v1', 'Namespace', name), spec: { finalizers: [] } }
      await client.put(`/api/v1/namespaces/${name}/finalize`, namespace)
    },
    applyPolicy: (namespace: string, name: string, content: object) =>
      client.apply({ ...objectOf(`${group}/v1`, 'AccessPolicy', name), ...content }, namespace),
    deletePolicy: (namespace: string, name: string) => client.delete(pathOf(namespace, name)),
    readPolicy: (namespace: string, name: string) => client.get<StoredPolicy>(pathOf(namespace, name)),
    /** Starts a gateway with the policies in these Kubernetes namespaces. It is closed after the test. */
    async openGateway(namespaces: readonly object[], users: readonly string[]): Promise<TestedGateway> {
      const upstream = await startRecordingUpstream()
      onTestFinished(() => upstream.close())
      const gateway = await openGateway(upstream.url, {
        users,
        tuning: { apiServer: { apiServer: server.url, caFile: server.caFile, tokenFile } },
        adjust: (settings) => ({
          ...settings,
          policies: { ...settings.policies, kubernetes: policyKubernetesSchema.parse({ namespaces }) },
        }),
      })
      onTestFinished(() => gateway.close())
      return gateway
    },
  }
}

function objectOf(apiVersion: string, kind: string, name: string): KubernetesObject {
  return { apiVersion, kind, metadata: { name } }
}

function pathOf(namespace: string, name = ''): string {
  return `/apis/${group}/v1/namespaces/${namespace}/accesspolicies/${name}`.replace(/\/$/, '')
}
