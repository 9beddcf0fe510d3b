import { createServer } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { listenLocally } from '../support/local-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { render, valueWords, type Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'

const withHelm = it.skipIf(helms.length === 0)

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
async function renderInCluster(
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

const existing = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'gateway-keys' },
    data: { pepper: 'eA==', 'keys.yaml': 'eA==' },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'without-keys' }, data: {} },
]

const valid = {
  apiKeys: { existingSecret: 'gateway-keys' },
  policies: { inline: { 'readers.yaml': 'apiVersion: catalog-gateway/v1' } },
}

/** Renders as an installation does, which looks up objects of the cluster. Rejects with the output of helm. */
async function install(values: object): Promise<void> {
  await renderInCluster(existing, await valueWords(values))
}

withHelm('an installation with existing Secrets is accepted', async () => {
  await install(valid)
  await install({ ...valid, extraEnvFrom: [{ secretRef: { name: 'gateway-kyes', optional: true } }] })
})

withHelm('missing Secrets, ConfigMaps, claims and keys are named, all at once', async () => {
  const values = {
    ...valid,
    apiKeys: { existingSecret: 'gateway-kyes' },
    pageTokens: { existingSecret: '{{ .Release.Name }}-tokens' },
    existingSecrets: ['without-keys', 'sinks'],
    policies: { ...valid.policies, existingConfigMaps: ['sales'] },
    catalog: {
      accessToken: { existingSecret: 'without-keys' },
      persistence: { existingClaim: 'tables' },
      extraEnvFrom: [{ secretRef: { name: 'store' } }, { configMapRef: { name: 'regions' } }],
      extraVolumes: [{ name: 'v', configMap: { name: 'authorities' } }],
    },
    extraEnv: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'without-keys', key: 'a' } } }],
    extraVolumes: [{ name: 'v', secret: { secretName: 'volume' } }],
    tests: { apiKey: { existingSecret: 'test-key' } },
  }
  const messages = [
    'apiKeys.existingSecret names the Secret gateway-kyes, which does not exist in the Kubernetes namespace default',
    'pageTokens.existingSecret names the Secret release-tokens, which does not exist',
    'existingSecrets names the Secret sinks, which does not exist',
    'policies.existingConfigMaps names the ConfigMap sales, which does not exist',
    'catalog.accessToken.existingSecret names the Secret without-keys, which has no key token',
    'catalog.persistence.existingClaim names the PersistentVolumeClaim tables, which does not exist',
    'catalog.extraEnvFrom names the Secret store, which does not exist',
    'catalog.extraEnvFrom names the ConfigMap regions, which does not exist',
    'catalog.extraVolumes names the ConfigMap authorities, which does not exist',
    'extraEnv names the Secret without-keys, which has no key a',
    'extraVolumes names the Secret volume, which does not exist',
    'tests.apiKey.existingSecret names the Secret test-key, which does not exist',
  ]
  const { stderr } = await install(values).then(
    () => ({ stderr: '' }),
    (error: { readonly stderr: string }) => error,
  )
  for (const message of messages) expect(stderr).toContain(message)
  expect(stderr).not.toContain('without-keys, which does not exist')
  await install({ ...values, check: { enabled: false } })
})

async function secretsOf(values: object): Promise<Readonly<Record<string, unknown>>> {
  const secrets = (await render(await valueWords(values))).filter(isGenerated)
  return Object.fromEntries(secrets.map(({ metadata, ...rest }) => [metadata.name, rest]))
}

/** Excludes what the check uses in place of them. */
function isGenerated({ kind, metadata }: Manifest): boolean {
  return kind === 'Secret' && !metadata.name.endsWith('-check')
}

const bootstrapKey = 'release-catalog-gateway-bootstrap-key'
const catalogToken = 'release-catalog-gateway-catalog-token'
const random = { immutable: true, data: expect.objectContaining({}) }

withHelm('secrets are random, and cannot be changed', async () => {
  const one = await secretsOf({})
  expect(one).toEqual({
    [bootstrapKey]: expect.objectContaining(random),
    [catalogToken]: expect.objectContaining(random),
  })
  const other = await secretsOf({})
  for (const name of [bootstrapKey, catalogToken]) expect(other[name]).not.toEqual(one[name])
})

const identity = {
  issuers: [{ name: 'corp', issuer: 'https://login.example', audience: 'x', algorithms: ['RS256'] }],
}
const policies = { inline: { 'everybody.yaml': 'apiVersion: catalog-gateway/v1' } }

withHelm.each([
  ['API keys', { apiKeys: { existingSecret: 'keys' }, policies }, [catalogToken]],
  ['an issuer of tokens', { config: { identity }, policies }, [catalogToken]],
  [
    'a variable',
    { extraEnv: [{ name: 'CATALOG_GATEWAY__IDENTITY__ANONYMOUS', value: 'true' }], policies },
    [catalogToken],
  ],
  ['a Secret for the catalog', { catalog: { accessToken: { existingSecret: 'token' } } }, [bootstrapKey]],
])('with %s, no second secret is generated for the same purpose', async (_name, values, expected) => {
  expect(Object.keys(await secretsOf(values))).toEqual(expected)
})

withHelm('an upgrade keeps the secrets of the cluster', async () => {
  const existing = { [bootstrapKey]: { 'api-key': 'a2VwdA==' }, [catalogToken]: { token: 'YWxzbyBrZXB0' } }
  const objects = Object.entries(existing).map(([name, data]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    data,
  }))
  const secrets = (await renderInCluster(objects, ['--is-upgrade'])).filter(isGenerated)
  expect(Object.fromEntries(secrets.map(({ metadata, data }) => [metadata.name, data]))).toEqual(existing)
})

const workload = 'release-catalog-gateway'
const autoscaling = [
  '--set',
  'autoscaling.enabled=true,autoscaling.minReplicas=2,pageTokens.existingSecret=page-tokens',
]

async function replicasAfterUpgrade(replicas: number): Promise<number | undefined> {
  const present = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: workload },
    spec: { replicas },
  }
  return replicasIn(await renderInCluster([present], ['--is-upgrade', ...autoscaling]))
}

function replicasIn(manifests: readonly Manifest[]): number | undefined {
  const gateway = manifests.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === workload)
  return (gateway?.spec as { readonly replicas?: number } | undefined)?.replicas
}

withHelm('an upgrade keeps the number of gateways that autoscaling has chosen', async () => {
  expect(await replicasAfterUpgrade(5)).toBe(5)
  expect(await replicasAfterUpgrade(1)).toBe(2)
  expect(replicasIn(await render(autoscaling))).toBeUndefined()
})

/** Renders an upgrade of a release with these objects. */
const upgrade = (present: readonly Manifest[], values: string) =>
  renderInCluster(present, ['--is-upgrade', '--set', values])

withHelm('an upgrade that would change volume claim templates is refused with what to do first', async () => {
  const present = (await render([])).filter(({ kind }) => kind === 'StatefulSet')
  expect(present.length).toBe(2)
  await upgrade(present, 'persistence.enabled=true,commonLabels.team=data')
  const refusal = await upgrade(
    present,
    'persistence.size=20Gi,catalog.persistence.existingClaim=tables',
  ).then(
    () => '',
    (error: { readonly stderr?: string }) => error.stderr,
  )
  for (const [path, name] of [
    ['persistence', 'release-catalog-gateway'],
    ['catalog.persistence', 'release-catalog-gateway-catalog'],
  ]) {
    expect(refusal).toContain(`\n${path} differs from that of the StatefulSet ${name},`)
    expect(refusal).toContain(`kubectl delete statefulset ${name} --cascade=orphan --namespace default`)
  }
  const orphaned = present.filter(({ metadata }) => metadata.name === 'release-catalog-gateway-catalog')
  await upgrade(orphaned, 'persistence.size=20Gi')
})
