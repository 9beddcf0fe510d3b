import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { chartFolder, valuesFile, valuesNames } from '../helm/chart.ts'
import { projectFolder } from '../e2e/built-program.ts'
import { helm, helms, kubectl } from '../helm/helm-programs.ts'
import { configMapsOfOthers, secretsOf } from '../helm/mounted-pod.ts'
import type { KubernetesObject } from './support/api-client.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'
import { startDaemon, type Daemon } from './support/daemon.ts'
import { programFile } from './support/kubernetes-programs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Kubernetes namespaces that values in `ci/` name. */
const foreignNamespaces = ['catalog-system', 'models', 'release-sales']
/** Kinds of others that the chart creates objects of. */
const foreignKinds = [
  { group: 'gateway.networking.k8s.io', version: 'v1', kind: 'HTTPRoute', plural: 'httproutes' },
  { group: 'monitoring.coreos.com', version: 'v1', kind: 'ServiceMonitor', plural: 'servicemonitors' },
  { group: 'monitoring.coreos.com', version: 'v1', kind: 'PrometheusRule', plural: 'prometheusrules' },
] as const

/** Starts the controllers of Kubernetes: they create pods, which admission checks, and nothing runs them. */
function startControllers({ kubeconfig, caFile, serviceAccountKeyFile, folder }: ApiServer) {
  const words = [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    `--service-account-private-key-file=${serviceAccountKeyFile}`,
    `--root-ca-file=${caFile}`,
  ]
  const name = 'kube-controller-manager'
  return startDaemon(programFile(name), words, join(folder, `${name}.log`))
}

let apiServer: ApiServer
let controllers: Daemon

beforeAll(async () => {
  apiServer = await startApiServer({ serviceAddresses: '10.96.0.0/16,fd00:10:96::/112' })
  controllers = startControllers(apiServer)
  for (const foreign of foreignKinds) await apiServer.client.apply(createDefinition(foreign))
  for (const name of foreignNamespaces) {
    await apiServer.client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }
})

afterAll(async () => {
  await controllers.close()
  await apiServer.close()
})

function createDefinition({ group, version, kind, plural }: (typeof foreignKinds)[number]): KubernetesObject {
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    // An API server requires it for groups below k8s.io.
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}

/** Creates what values in `ci/` name, and users create. */
async function createNamedObjects(namespace: string): Promise<void> {
  const apiVersion = 'v1'
  const secrets = Object.entries(await secretsOf(await temporaryFolder()))
    .filter(([name]) => !name.startsWith('release-catalog-gateway'))
    .map(([name, stringData]) => ({ apiVersion, kind: 'Secret', metadata: { name }, stringData }))
  const configMaps = Object.entries(configMapsOfOthers).map(([name, data]) => ({
    apiVersion,
    kind: 'ConfigMap',
    metadata: { name },
    data,
  }))
  const claim = {
    apiVersion,
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'tables' },
    spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
  }
  const account = { apiVersion, kind: 'ServiceAccount', metadata: { name: 'tables' } }
  for (const object of [...secrets, ...configMaps, claim, account]) {
    await apiServer.client.apply(object, namespace)
  }
}

/** A workload, or an object that is none. */
interface Workload {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: { readonly replicas?: number }
}

function countPods({ kind, spec }: Workload): number {
  if (kind === 'Job' || kind === 'Pod') return 1
  return kind === 'Deployment' || kind === 'StatefulSet' ? (spec?.replicas ?? 1) : 0
}

function parse(text: string): readonly (KubernetesObject & Workload)[] {
  // Kubernetes reads YAML 1.1.
  const documents = parseAllDocuments(text, { version: '1.1' })
  return 'empty' in documents ? [] : documents.flatMap((document) => document.toJS() ?? [])
}

async function createRestrictedNamespace(name: string): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await apiServer.client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
}

/**
 * Installs a release, counts the pods that controllers create, and uninstalls it. Returns the first refusal of a pod;
 * undefined if all were created.
 */
async function findRefusal(namespace: string, program: string, values: readonly string[]) {
  const { client, kubeconfig } = apiServer
  await createRestrictedNamespace(namespace)
  await createNamedObjects(namespace)
  const where = ['--namespace', namespace, '--kubeconfig', kubeconfig]
  // Hooks would wait for pods that nothing runs, so they are created as other objects are.
  // Another release has left the definition of AccessPolicy resources, which outlives releases.
  const options = ['--no-hooks', '--take-ownership']
  await helm(['install', 'release', chartFolder, ...values, ...options, ...where], program)
  const manifests = parse(await helm(['get', 'manifest', 'release', ...where], program))
  const hooks = parse(await helm(['get', 'hooks', 'release', ...where], program))
  for (const hook of hooks) await client.apply(hook, namespace)
  const refusal = await waitForPods(namespace, [...manifests, ...hooks])
  await helm(['uninstall', 'release', '--no-hooks', ...where], program)
  return refusal
}

/** Waits until controllers have created the pods of these workloads. Returns the first refusal of one. */
async function waitForPods(namespace: string, workloads: readonly Workload[]): Promise<string | undefined> {
  const { client } = apiServer
  const expected = workloads.reduce((sum, object) => sum + countPods(object), 0)
  const path = `/api/v1/namespaces/${namespace}`
  const list = async (kind: string) =>
    (await client.get<{ items: readonly { reason?: string; message?: string }[] }>(`${path}/${kind}`)).items
  const readRefusal = async () =>
    (await list('events')).find(({ reason }) => reason === 'FailedCreate')?.message
  const arePods = async () => {
    if ((await list('pods')).length >= expected || (await readRefusal()) !== undefined) return
    throw new Error(`there are not ${expected} pods yet`)
  }
  await vi.waitFor(arePods, { timeout: 180_000, interval: 200 })
  return await readRefusal()
}

const cases = helms.flatMap((program, index) =>
  valuesNames.map((name) => ({ name, program, namespace: `${name}-${index}` })),
)

it.each(cases)('$name is admitted in a restricted namespace, with $program', async (each) => {
  const { name, program, namespace } = each
  expect(await findRefusal(namespace, program, ['--values', valuesFile(name)])).toBeUndefined()
})

it.each(helms.slice(-1))(
  'examples/kubernetes is admitted, first the policies and then the chart',
  async (program) => {
    if (kubectl === undefined) throw new Error('there is no kubectl on this machine')
    const example = join(projectFolder, 'examples/kubernetes')
    const text = execFileSync(kubectl, ['kustomize', join(example, 'policies')], { encoding: 'utf8' })
    const objects = parse(text)
    for (const namespace of ['example-policies', 'example-gateway'])
      await createRestrictedNamespace(namespace)
    for (const object of objects) await apiServer.client.apply(object, 'example-policies')
    expect(await waitForPods('example-policies', objects)).toBeUndefined()
    for (const object of objects.filter(({ kind }) => kind === 'ConfigMap'))
      await apiServer.client.apply(object, 'example-gateway')
    const values = ['--values', join(example, 'values.yaml')]
    expect(await findRefusal('example-gateway', program, values)).toBeUndefined()
  },
)

it.each(helms.slice(-1))('a pod that may run as root is refused', async (program) => {
  const values = ['--set', 'podSecurityContext.runAsNonRoot=false']
  await expect(findRefusal('root', program, values)).rejects.toThrow('runAsNonRoot != true')
})
