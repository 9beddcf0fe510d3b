import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { policyKubernetesSchema } from '../../../src/config/policy-settings.ts'
import { projectFolder } from '../../e2e/built-program.ts'
import { openGateway, type TestedGateway } from '../../gateway/support/open-gateway.ts'
import { startRecordingUpstream } from '../../gateway/support/recording-upstream.ts'
import type { KubernetesObject } from './api-client.ts'
import { startApiServer, type ApiServer } from './start-api-server.ts'
import { eventually } from '../../support/eventually.ts'

const group = 'catalog-gateway.dev'
const ownNamespace = 'catalog'

/** An API server with the definition of AccessPolicy resources, and an account with the least roles for a gateway. */
export interface PolicyCluster extends ApiServer {
  /** Creates a Kubernetes namespace that the gateway may read, and returns its uid. */
  createNamespace(name: string): Promise<string>
  /** Deletes a Kubernetes namespace and all policies in it. */
  deleteNamespace(name: string): Promise<void>
  applyPolicy(namespace: string, name: string, content: object): Promise<KubernetesObject>
  deletePolicy(namespace: string, name: string): Promise<void>
  readPolicy(namespace: string, name: string): Promise<StoredPolicy>
  /** Starts a gateway with the policies in these Kubernetes namespaces. It is closed after the test. */
  openGateway(namespaces: readonly object[], users: readonly string[]): Promise<TestedGateway>
}

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

export async function startPolicyCluster(): Promise<PolicyCluster> {
  const server = await startApiServer()
  try {
    return await preparePolicies(server)
  } catch (error) {
    await server.close()
    throw error
  }
}

async function preparePolicies(server: ApiServer): Promise<PolicyCluster> {
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
    async createNamespace(name) {
      const { metadata } = await client.apply(objectOf('v1', 'Namespace', name))
      const policies = { apiGroups: [group], resources: ['accesspolicies'] }
      await grant(name, [
        { ...policies, verbs: ['get', 'list', 'watch'] },
        { ...policies, resources: ['accesspolicies/status'], verbs: ['patch'] },
        { apiGroups: [''], resources: ['namespaces'], resourceNames: [name], verbs: ['get'] },
      ])
      return String(metadata['uid'])
    },
    async deleteNamespace(name) {
      // No controller does it in this cluster.
      await client.delete(pathOf(name))
      await client.delete(`/api/v1/namespaces/${name}`)
      await finalizeNamespace(server, name)
    },
    applyPolicy: (namespace, name, content) =>
      client.apply({ ...objectOf(`${group}/v1`, 'AccessPolicy', name), ...content }, namespace),
    deletePolicy: (namespace, name) => client.delete(pathOf(namespace, name)),
    readPolicy: (namespace, name) => client.get<StoredPolicy>(pathOf(namespace, name)),
    async openGateway(namespaces, users) {
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

async function finalizeNamespace({ url, caFile, adminToken }: ApiServer, name: string): Promise<void> {
  const dispatcher = new Agent({ connect: { ca: await readFile(caFile, 'utf8') } })
  const { statusCode, body } = await request(`${url}/api/v1/namespaces/${name}/finalize`, {
    method: 'PUT',
    dispatcher,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...objectOf('v1', 'Namespace', name), spec: { finalizers: [] } }),
  })
  const text = await body.text()
  await dispatcher.close()
  if (statusCode !== 200) throw new Error(`the Kubernetes namespace was not finalized: ${statusCode} ${text}`)
}

function pathOf(namespace: string, name = ''): string {
  return `/apis/${group}/v1/namespaces/${namespace}/accesspolicies/${name}`.replace(/\/$/, '')
}
