import { createServer } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { listenLocally } from '../support/local-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { render, type Manifest } from './chart.ts'

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

/**
 * Renders the chart in a cluster with these objects of the namespace `default`, as an installation does, or as an upgrade
 * with `--is-upgrade` among the words. Rejects with the output of helm.
 */
export async function renderInCluster(
  objects: readonly KubernetesObject[],
  words: readonly string[],
): Promise<readonly Manifest[]> {
  const kubeconfig = join(await temporaryFolder(), 'kubeconfig')
  await startApiServer(objects, kubeconfig)
  return render(['--dry-run=server', '--disable-openapi-validation', '--kubeconfig', kubeconfig, ...words])
}

/** Starts an API server until the end of the test, and writes a kubeconfig for it. */
async function startApiServer(objects: readonly KubernetesObject[], kubeconfig: string): Promise<void> {
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
  })
  const port = await listenLocally(server)
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
}
