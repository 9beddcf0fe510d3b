import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { stringify } from 'yaml'

/** An API server with what the chart looks up. */
export interface ApiServer {
  close(): void
}

/** The kinds of the chart's default manifests. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  v1: ['Secret', 'ConfigMap', 'Service', 'ServiceAccount', 'Pod', 'PersistentVolumeClaim'],
  'apps/v1': ['StatefulSet'],
  'batch/v1': ['Job'],
  'autoscaling/v2': ['HorizontalPodAutoscaler'],
  'networking.k8s.io/v1': ['NetworkPolicy'],
  'policy/v1': ['PodDisruptionBudget'],
}

interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

function getGroupPath(apiVersion: string): string {
  return apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
}

function toResourceName(kind: string): string {
  return `${kind.toLowerCase().replace(/y$/, 'ie')}s`
}

/** Starts an API server with these objects of the namespace `default`, and writes a kubeconfig for it. */
export async function startApiServer(
  objects: readonly KubernetesObject[],
  kubeconfig: string,
): Promise<ApiServer> {
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
        getGroupPath(groupVersion),
        {
          kind: 'APIResourceList',
          groupVersion,
          resources: names.map((kind) => ({
            name: toResourceName(kind),
            namespaced: true,
            kind,
            verbs: ['get'],
          })),
        },
      ]),
    ),
    ...Object.fromEntries(
      objects.map((object) => {
        const { apiVersion, kind, metadata } = object
        const group = getGroupPath(apiVersion)
        return [`${group}/namespaces/default/${toResourceName(kind)}/${metadata.name}`, object]
      }),
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
