import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments, stringify } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { isProvided } from '../support/requirements.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { helm, helms } from './helm-programs.ts'

isProvided('helm', () => helms.length > 0)

export const chartFolder = join(projectFolder, 'helm', 'catalog-gateway')

export const valuesNames: readonly string[] = readdirSync(join(chartFolder, 'ci'))
  .map((file) => file.replace(/-values\.yaml$/, ''))
  .toSorted()

/** Values with certificates, which `secretsOf` issues. */
export const valuesWithTls: ReadonlySet<string> = new Set(['tls'])

export function valuesFile(name: string): string {
  return join(chartFolder, 'ci', `${name}-values.yaml`)
}

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels: Readonly<Record<string, string>>
  }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: unknown
}

/** The parts of a pod that tests read. */
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
  readonly image?: string
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

export interface MountedKeys {
  /** Default: all keys, each as a file of its name. */
  readonly items?: readonly { readonly key: string; readonly path: string }[]
}

interface Volume {
  readonly name: string
  readonly configMap?: MountedKeys & { readonly name: string }
  readonly secret?: MountedKeys & { readonly secretName: string }
  readonly downwardAPI?: {
    readonly items: readonly { readonly path: string; readonly fieldRef: { readonly fieldPath: string } }[]
  }
}

interface RenderOptions {
  /** Helm program; by default the newest. */
  readonly program?: string
  /** Folder of the chart; by default that of this project. */
  readonly chart?: string
  /** Name of the release; by default `release`. */
  readonly release?: string
}

/** Renders a chart, by default without access to a cluster. */
export async function render(
  words: readonly string[],
  { program, chart = chartFolder, release = 'release' }: RenderOptions = {},
): Promise<readonly Manifest[]> {
  return manifestsIn(await helm(['template', release, chart, ...words], program))
}

/** Words for helm that state these values, in a file until the end of the test; text is YAML. */
export async function valueWords(values: object | string): Promise<readonly string[]> {
  const file = join(await temporaryFolder(), 'values.yaml')
  await writeFile(file, typeof values === 'string' ? values : stringify(values))
  return ['--values', file]
}

/** A pod with its metadata. */
export interface PodTemplate {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: PodSpec
}

/** Lists the pods that workloads create. */
export function podTemplatesOf(manifests: readonly Manifest[]): readonly PodTemplate[] {
  return manifests.flatMap(({ spec }) => (spec as { readonly template?: PodTemplate })?.template ?? [])
}

/** Lists the pods of manifests with their components. */
export function podsOf(
  manifests: readonly Manifest[],
): readonly { component: string; pod: PodSpec; annotations: Readonly<Record<string, string>> }[] {
  const bare = manifests.filter(({ kind }) => kind === 'Pod') as readonly (Manifest & PodTemplate)[]
  return [...podTemplatesOf(manifests), ...bare].map(({ metadata, spec }) => ({
    component: metadata.labels['app.kubernetes.io/component'] ?? '',
    pod: spec,
    annotations: metadata.annotations ?? {},
  }))
}

/** Kubernetes reads YAML 1.1, in which 0440 is octal. */
function manifestsIn(text: string): readonly Manifest[] {
  const documents = parseAllDocuments(text, { version: '1.1' })
  if ('empty' in documents) return []
  return documents.flatMap((document) => {
    if (document.errors[0]) throw document.errors[0]
    const manifest = document.toJS() as Manifest | null
    return manifest === null ? [] : [manifest]
  })
}
