import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { stringify } from 'yaml'

/** The Secrets of a cluster, in the shape of the Kubernetes API, which is all that the chart looks up. */
export interface SecretsApiServer {
  close(): void
}

/** The kinds of the chart's default manifests. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  v1: ['Secret', 'ConfigMap', 'Service', 'ServiceAccount', 'Pod'],
  'apps/v1': ['StatefulSet'],
  'networking.k8s.io/v1': ['NetworkPolicy'],
  'policy/v1': ['PodDisruptionBudget'],
}

function toResource(kind: string): object {
  const name = kind.toLowerCase().replace(/y$/, 'ie')
  return { name: `${name}s`, namespaced: true, kind, verbs: ['get'] }
}

/** Starts an API server that has these Secrets, by name, and writes a kubeconfig for it. */
export async function startSecretsApiServer(
  secrets: Readonly<Record<string, Readonly<Record<string, string>>>>,
  kubeconfig: string,
): Promise<SecretsApiServer> {
  const groups = Object.keys(kinds).filter((version) => version !== 'v1')
  const documents: Readonly<Record<string, unknown>> = {
    '/version': { major: '1', minor: '36', gitVersion: 'v1.36.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: groups.map((groupVersion) => {
        const [name, version] = groupVersion.split('/')
        const versions = [{ groupVersion, version }]
        return { name, versions, preferredVersion: versions[0] }
      }),
    },
    ...Object.fromEntries(
      Object.entries(kinds).map(([groupVersion, names]) => [
        groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`,
        { kind: 'APIResourceList', groupVersion, resources: names.map(toResource) },
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(secrets).map(([name, data]) => [
        `/api/v1/namespaces/default/secrets/${name}`,
        { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data },
      ]),
    ),
  }
  const server = createServer(({ url = '' }, response) => {
    const document = documents[url.replace(/\?.*$/, '')]
    const missing = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }
    response.statusCode = document === undefined ? 404 : 200
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document ?? missing))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const named = { name: 'test' }
  await writeFile(
    kubeconfig,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ ...named, cluster: { server: `http://127.0.0.1:${port}` } }],
      contexts: [{ ...named, context: { cluster: 'test', user: 'test' } }],
      users: [{ ...named, user: {} }],
    }),
  )
  return { close: () => void server.close() }
}
