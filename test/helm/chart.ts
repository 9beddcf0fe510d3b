import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { applyPatch, createPatch, FILE_HEADERS_ONLY } from 'diff'
import { parse, parseAllDocuments } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { isProvided } from '../support/requirements.ts'
import { helm, helms } from './helm-programs.ts'

isProvided('helm', () => helms.length > 0)

export const chartFolder = join(projectFolder, 'helm', 'catalog-gateway')

export const valuesNames: readonly string[] = readdirSync(join(chartFolder, 'ci'))
  .map((file) => file.replace(/-values\.yaml$/, ''))
  .toSorted()

/** Values with certificates, which `secretsOf` issues. */
export const needOpenssl: ReadonlySet<string> = new Set(['tls'])

export function valuesFile(name: string): string {
  return join(chartFolder, 'ci', `${name}-values.yaml`)
}

/** The values whose expected manifests are in a file; those of all others are in patches. */
const baseName = 'one-upstream'
/** The values whose manifests those with a catalog patch. */
const catalogBase = 'bundled-catalog'

function findBase(name: string): string {
  if (name === catalogBase) return baseName
  const values = parse(readFileSync(valuesFile(name), 'utf8')) as { catalog?: { enabled?: boolean } } | null
  return values?.catalog?.enabled === false ? baseName : catalogBase
}

/** Path of the expected manifests, or of their differences; golden.test.ts compares them with every helm version. */
export function goldenFile(name: string): string {
  return join(projectFolder, 'test', 'helm', 'golden', `${name}.${name === baseName ? 'yaml' : 'patch'}`)
}

/** Returns what the golden file of these values contains if they render as `text`. */
export function goldenContent(name: string, text: string): string {
  if (name === baseName) return text
  const base = findBase(name)
  return createPatch(base, goldenText(base), text, '', name, { context: 1, headerOptions: FILE_HEADERS_ONLY })
}

/** Expected manifests of values in `ci/`; needs no helm. */
export function goldenManifests(name: string): readonly Manifest[] {
  return manifestsIn(goldenText(name))
}

function goldenText(name: string): string {
  const content = readFileSync(goldenFile(name), 'utf8')
  if (name === baseName) return content
  const text = applyPatch(goldenText(findBase(name)), content)
  if (text === false) throw new Error(`${goldenFile(name)} is no patch of ${findBase(name)}; update both`)
  return text
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
