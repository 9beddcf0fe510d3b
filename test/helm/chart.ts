import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { helm } from './helm-programs.ts'

/** The folder of the chart. */
export const chartFolder = join(projectFolder, 'helm', 'catalog-gateway')

/** The names of the values that the chart is tried with: the files of `ci/`. */
export const valuesNames: readonly string[] = readdirSync(join(chartFolder, 'ci'))
  .map((file) => file.replace(/-values\.yaml$/, ''))
  .toSorted()

/** A file of values in `ci/`. */
export function valuesFile(name: string): string {
  return join(chartFolder, 'ci', `${name}-values.yaml`)
}

/** What these values become, as the tests expect it: golden.test.ts holds every helm to it. */
export function goldenFile(name: string): string {
  return join(projectFolder, 'test', 'helm', 'golden', `${name}.yaml`)
}

/** What the chart must make of values in `ci/`, without any helm. */
export function goldenManifests(name: string): readonly Manifest[] {
  return manifestsIn(readFileSync(goldenFile(name), 'utf8'))
}

/** An object of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: unknown
}

/** A pod, as far as the tests look at it. */
export interface PodSpec {
  readonly automountServiceAccountToken?: boolean
  readonly terminationGracePeriodSeconds?: number
  readonly securityContext?: Readonly<Record<string, unknown>>
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
  readonly volumes?: readonly Volume[]
}

export interface Container {
  readonly name: string
  readonly command?: readonly string[]
  readonly args: readonly string[]
  readonly env?: readonly Variable[]
  readonly ports?: readonly {
    readonly name: string
    readonly containerPort: number
    readonly hostPort?: number
  }[]
  readonly securityContext?: Readonly<Record<string, unknown>>
  readonly volumeMounts?: readonly {
    readonly name: string
    readonly mountPath: string
    readonly subPath?: string
  }[]
}

interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } }
}

interface Volume {
  readonly name: string
  readonly configMap?: {
    readonly name: string
    readonly items?: readonly { readonly key: string; readonly path: string }[]
  }
  readonly secret?: { readonly secretName: string }
}

/** Renders the chart as a release named `release`, in a cluster with the operator of Prometheus. */
export async function render(words: readonly string[], program?: string): Promise<readonly Manifest[]> {
  const kinds = ['ServiceMonitor', 'PrometheusRule'].map((kind) => `monitoring.coreos.com/v1/${kind}`)
  const operator = ['--api-versions', kinds.join(',')]
  return manifestsIn(await helm(['template', 'release', chartFolder, ...operator, ...words], program))
}

/** The pods of manifests, each with the component that it is. */
export function podsOf(manifests: readonly Manifest[]): readonly { component: string; pod: PodSpec }[] {
  return manifests.flatMap(({ kind, metadata, spec }) => {
    const component = metadata.labels['app.kubernetes.io/component'] ?? ''
    if (kind === 'Pod') return [{ component, pod: spec as PodSpec }]
    const template = (spec as { readonly template?: { readonly spec: PodSpec } } | undefined)?.template
    return template ? [{ component, pod: template.spec }] : []
  })
}

/** Kubernetes reads YAML 1.1, in which 0440 is a number in base 8. */
function manifestsIn(text: string): readonly Manifest[] {
  const documents = parseAllDocuments(text, { version: '1.1' })
  if ('empty' in documents) return []
  return documents.flatMap((document) => {
    if (document.errors[0]) throw document.errors[0]
    const manifest = document.toJS() as Manifest | null
    return manifest === null ? [] : [manifest]
  })
}
