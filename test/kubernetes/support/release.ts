import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { StatefulSet } from 'kubernetes-types/apps/v1.js'
import type { Pod, Secret, Service } from 'kubernetes-types/core/v1.js'
import { request } from 'undici'
import { inject, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { chartFolder } from '../../helm/chart.ts'
import { helm, helms } from '../../helm/helm-programs.ts'
import type { KubernetesObject } from './api-client.ts'
import { createNamespace, type TestNamespace } from './namespace.ts'
import { toLoopback } from './node/loopback-address.ts'

type Component = 'catalog' | 'gateway'

interface HelmOptions {
  /** A helm program; by default the newest. */
  readonly program?: string
  /** A folder with a chart; by default that of this project. */
  readonly chart?: string
  /** By default true: until the pods are ready. */
  readonly isAwaited?: boolean
}

interface InstallOptions extends HelmOptions {
  /** Created before the installation. */
  readonly secrets?: readonly KubernetesObject[]
}

/** A release of the chart in a namespace of its own. */
export interface Release {
  readonly namespace: TestNamespace
  /** Where clients reach the Service of the gateways. */
  readonly url: string
  /** The generated key. */
  readonly apiKey: string
  /** Rejects with helm's output. */
  helm(words: readonly string[], program?: string): Promise<string>
  upgrade(values: object, options?: HelmOptions): Promise<string>
  pods(component: Component): Promise<readonly Pod[]>
  /** The path of the StatefulSet in the API. */
  workload(component: Component): string
  /** Restarts the pods one after the other, as `kubectl rollout restart` does. */
  restart(component: Component): Promise<void>
  /** Resolves when all gateways behind the Service answer with success. */
  untilServing(): Promise<void>
}

const name = 'demo'
const timeoutMs = 180_000
const helmTimeout = '3m'

/** Installs the chart, and waits until its pods are ready. Values may name the Secret `page-tokens`. */
export async function installRelease(
  values: object,
  { secrets = [], ...options }: InstallOptions = {},
): Promise<Release> {
  const namespace = await createNamespace()
  const { client } = namespace
  const folder = await mkdtemp(join(tmpdir(), 'release-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const pageTokens = createSecret('page-tokens', { 'token-key': 'a secret of more than 32 characters' })
  for (const secret of [pageTokens, ...secrets]) await client.apply(secret, namespace.name)
  const run = async (words: readonly string[], program?: string) =>
    helm([...words, '--namespace', namespace.name, '--kubeconfig', namespace.kubeconfig], program)
  const apply = async (verb: string, values: object, { program, chart, isAwaited = true }: HelmOptions) => {
    const file = join(folder, 'values.yaml')
    await writeFile(file, stringify(values))
    const waiting = isAwaited ? ['--wait'] : []
    const words = [verb, name, chart ?? chartFolder, '--values', file, ...waiting, '--timeout', helmTimeout]
    return run(words, program ?? helms.at(-1))
  }
  await apply('install', values, options)
  const inNamespace = `/api/v1/namespaces/${namespace.name}`
  const service = await client.get<Service>(`${inNamespace}/services/${name}-catalog-gateway`)
  const { clusterIP = '', ports = [] } = service.spec ?? {}
  const url = `http://${toLoopback(clusterIP)}:${ports[0]?.port}`
  const secret = await client.get<Secret>(`${inNamespace}/secrets/${name}-catalog-gateway-bootstrap-key`)
  const apiKey = Buffer.from(secret.data?.['api-key'] ?? '', 'base64').toString()
  const workload = (component: Component) => {
    const suffix = component === 'catalog' ? '-catalog' : ''
    return `/apis/apps/v1/namespaces/${namespace.name}/statefulsets/${name}-catalog-gateway${suffix}`
  }
  const call = async () => {
    const headers = { 'x-api-key': apiKey, connection: 'close' }
    return (await request(`${url}/v1/namespace/$/list`, { headers, reset: true })).statusCode
  }
  /** Of calls on connections of their own, so that each gateway gets some of them. */
  const areCallsGood = async () => {
    for (let count = 0; count < 15; count += 1) if ((await call().catch(() => 0)) !== 200) return false
    return true
  }
  const untilServing = () => until(areCallsGood)
  await untilServing()
  return {
    namespace,
    url,
    apiKey,
    helm: run,
    upgrade: (values, options = {}) => apply('upgrade', values, options),
    workload,
    async pods(component) {
      const selector = `labelSelector=app.kubernetes.io/component=${component}`
      return (await client.get<{ items: readonly Pod[] }>(`${inNamespace}/pods?${selector}`)).items
    },
    async restart(component) {
      const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() }
      await client.patch(workload(component), { spec: { template: { metadata: { annotations } } } })
      await until(async () => hasRolledOut(await client.get<StatefulSet>(workload(component))))
    },
    untilServing,
  }
}

export function createSecret(name: string, stringData: Readonly<Record<string, string>>) {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData }
}

/** Resolves when the condition holds; rejects after three minutes. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + timeoutMs; !(await condition());) {
    if (Date.now() > end) throw new Error('the cluster did not reach the expected state in time')
    await setTimeout(200)
  }
}

export function isReady({ status, metadata }: Pod): boolean {
  const { conditions = [] } = status ?? {}
  return (
    metadata?.deletionTimestamp === undefined &&
    conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  )
}

export function uidsOf(pods: readonly Pod[]): readonly (string | undefined)[] {
  return pods.map(({ metadata }) => metadata?.uid)
}

export function countRestarts(pods: readonly Pod[]): number {
  const statuses = pods.flatMap(({ status }) => status?.containerStatuses ?? [])
  return statuses.reduce((sum, { restartCount }) => sum + restartCount, 0)
}

/** Kills the process of a container, as an exhausted memory limit does. */
export async function killContainer(pod: Pod, container: string): Promise<void> {
  const file = join(inject('cluster').folder, 'pods', pod.metadata?.uid ?? '', `${container}.pid`)
  process.kill(Number(await readFile(file, 'utf8')), 'SIGKILL')
}

function hasRolledOut({ metadata, spec, status }: StatefulSet): boolean {
  return (
    status?.observedGeneration === metadata?.generation &&
    status?.updatedReplicas === spec?.replicas &&
    status?.readyReplicas === spec?.replicas &&
    status?.currentRevision === status?.updateRevision
  )
}
