import { spawnSync } from 'node:child_process'
import type { Command } from 'commander'
import { parseAllDocuments } from 'yaml'
import type { GatewaySettings, PolicyNamespace } from '../../config/index.ts'
import { getMembers, groupBy } from '../../lib/index.ts'
import { type KubernetesObject, parseKubernetesObject } from '../../kubernetes/index.ts'
import {
  assertAnyPolicy,
  compileContents,
  createPolicyVocabulary,
  createReviewer,
  createSettingsVocabulary,
  fileOfResource,
  formatProblem,
  isTerminating,
  listDocuments,
  type LoadedPolicies,
  parsePolicyFile,
  policyApiGroup,
  PolicyError,
  policyKind,
  type PolicyProblem,
  policyResourceName,
  type PolicyVocabulary,
  readPolicies,
  readPolicyFolder,
  resourceApiVersion,
} from '../../policy/index.ts'
import { collect, readConfig } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'

/** Which policies a command is about. */
export interface SourceOptions {
  readonly policies: readonly string[]
  readonly kubernetes?: true
  readonly config?: string
}

/** Adds the options of `SourceOptions`; one source is required. */
export function addSourceOptions(command: Command): Command {
  return addClusterOptions(
    command.option('--policies <dir>', 'a folder of policies; repeatable', collect, []),
  ).hook('preAction', () => {
    const { policies, kubernetes, config } = command.opts<SourceOptions>()
    if (policies.length === 0 && kubernetes === undefined && config === undefined)
      command.error('error: expected --policies <dir>, --kubernetes or both; or --config <file>')
  })
}

/** Adds the options of `SourceOptions` except `--policies`. */
export function addClusterOptions(command: Command): Command {
  return command
    .option(
      '--kubernetes',
      'the AccessPolicy resources of the cluster of kubectl; with --config those that the gateway uses',
    )
    .option(...configOption)
}

export const configOption = [
  '--config <file>',
  'the settings of the gateway: its policy folders, extra operations that policies name, Kubernetes namespaces that count',
] as const

/** Where the policies are that a command is about, and what may be in them. */
interface PolicyContext {
  /** Those of the options or, without another source, of the settings. */
  readonly folders: readonly string[]
  /** The operations that policies may name: those of the catalog API, and extra ones of the settings. */
  readonly vocabulary: PolicyVocabulary
  readonly settings: GatewaySettings | undefined
  /** Undefined without `--kubernetes`. */
  readonly cluster: Cluster | undefined
}

/** The AccessPolicy resources of a cluster. */
interface Cluster {
  readonly resources: readonly KubernetesObject[]
  /** Of the Kubernetes namespaces by name, if the settings name one by its uid. */
  readonly uids: ReadonlyMap<unknown, unknown>
}

/** The vocabulary without settings: the policies may be those of `dev`. */
export const anySettings = createPolicyVocabulary({ acceptsDevelopment: true })

/**
 * Reads the settings and the cluster of kubectl, as the options say. Throws CommandFailure with all errors in the settings,
 * and if they use no resources although the command does.
 */
export async function readPolicyContext(
  { policies = [], config, kubernetes }: Partial<SourceOptions>,
  io: Io,
): Promise<PolicyContext> {
  const settings = config === undefined ? undefined : await readConfig(config, io)
  const namespaces = settings?.policies.kubernetes?.namespaces
  if (kubernetes && settings !== undefined && namespaces === undefined)
    throw new CommandFailure(
      `the settings in ${config ?? ''} contain no policies.kubernetes, so their gateway uses no resources; omit --kubernetes`,
    )
  return {
    folders: policies.length === 0 && !kubernetes ? (settings?.policies.folder ?? []) : policies,
    vocabulary: settings === undefined ? anySettings : createSettingsVocabulary(settings),
    settings,
    cluster: kubernetes && (await readCluster(namespaces)),
  }
}

async function readCluster(namespaces: readonly PolicyNamespace[] = []): Promise<Cluster> {
  const isByUid = namespaces.some(({ uid }) => uid !== undefined)
  const kinds = `${policyResourceName}.${policyApiGroup}${isByUid ? ',namespaces' : ''}`
  const byKind = groupBy(getObjects(kinds), (object) => String(getMembers(object)['kind']))
  const resources = await runStep('the resources cannot be used', async () =>
    (byKind.get(policyKind) ?? []).map(parseKubernetesObject),
  )
  const metadata = (byKind.get('Namespace') ?? []).map((object) => getMembers(getMembers(object)['metadata']))
  return {
    resources: resources.filter((resource) => !isTerminating(resource)),
    uids: new Map(metadata.map(({ name, uid }) => [name, uid])),
  }
}

/**
 * Runs `kubectl get` and returns the objects that it finds. kubectl reads its kubeconfig, asks for credentials on the
 * terminal and prints its own errors there. Throws CommandFailure if it cannot run or fails.
 */
function getObjects(kinds: string): readonly unknown[] {
  const { error, status, stdout } = spawnSync(
    'kubectl',
    ['get', kinds, '--all-namespaces', '--output', 'json'],
    { stdio: ['inherit', 'pipe', 'inherit'], encoding: 'utf8', maxBuffer: Infinity },
  )
  if (error !== undefined) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandFailure(`kubectl cannot be run (${code}); install it in the PATH`, { cause: error })
  }
  if (status !== 0)
    throw new CommandFailure(`kubectl cannot read ${kinds} (status ${status}); its message is above`)
  try {
    const { items } = getMembers(JSON.parse(stdout))
    if (Array.isArray(items)) return items
  } catch {
    // No JSON is no list either.
  }
  throw new CommandFailure('kubectl printed something else than a list of resources')
}

/** Policies as a gateway uses them. */
interface LoadedSources extends LoadedPolicies {
  /** Errors in resources: the gateway does not use these resources, or only what they restrict. */
  readonly refused: readonly PolicyProblem[]
}

/** Prints the errors in resources. */
export function printRefused(loaded: LoadedSources, { stderr }: Io): LoadedSources {
  for (const problem of loaded.refused) stderr.write(`refused: ${formatProblem(problem)}\n`)
  return loaded
}

/**
 * Loads the policies of folders, and of a cluster as a gateway does that watches it. Without settings all resources count,
 * as those of the platform. Throws CommandFailure with all errors in the folders, and if there are no policies.
 */
export async function loadSources(context: PolicyContext, folders = context.folders): Promise<LoadedSources> {
  const { vocabulary, settings, cluster } = context
  const names = folders.join(' and ')
  const files = await runStep(`the policies in ${names} cannot be used`, async () => {
    const contents = await readPolicies(folders, vocabulary)
    if (folders.length > 0) assertAnyPolicy(names, contents.documents.length)
    return contents
  })
  const ofNamespace = groupBy(cluster?.resources ?? [], ({ metadata }) => metadata.namespace)
  const counting: readonly PolicyNamespace[] =
    settings?.policies.kubernetes?.namespaces ??
    [...ofNamespace.keys()].map((name) => ({ platform: true, name }))
  const reviewed = counting.map((namespace) => {
    const { name } = namespace
    const content = { resources: ofNamespace.get(name) ?? [], uid: cluster?.uids.get(name) }
    return createReviewer(namespace, vocabulary)(content)
  })
  const reviews = (await Promise.all(reviewed)).flat()
  if (folders.length === 0 && reviews.length === 0)
    throw new CommandFailure(
      'the cluster has no AccessPolicy resources that count; see --config, and the context of kubectl',
    )
  const refused = reviews.filter(({ reason }) => reason !== 'Accepted')
  const merged = {
    documents: [...files.documents, ...listDocuments(reviews)],
    tests: [...files.tests, ...reviews.flatMap(({ tests }) => tests)],
  }
  return {
    ...compileContents(merged),
    refused: refused.flatMap(({ resource, message: text }) =>
      text.split('\n').map((message) => ({ file: fileOfResource(resource), message })),
    ),
  }
}

/**
 * Returns the resources as they would be after `kubectl apply` of the policies in a folder: a candidate replaces the
 * resource of the same Kubernetes namespace and name. Throws PolicyError with every error in every file, if a policy
 * cannot be applied, and if there is none.
 */
export async function applyCandidates(
  resources: readonly KubernetesObject[],
  folder: string,
  vocabulary: PolicyVocabulary,
): Promise<readonly KubernetesObject[]> {
  const files = await readPolicyFolder({ path: folder, prefix: '' })
  const parsed = files.map((file) => parsePolicyFile(file, vocabulary))
  const problems = parsed.flatMap((file) => file.problems)
  const after = new Map(
    resources.map((resource) => [`${resource.metadata.namespace}/${resource.metadata.name}`, resource]),
  )
  const now = new Date().toISOString().replace(/\.\d+/, '')
  for (const { name: file, bytes } of problems.length > 0 ? [] : files) {
    for (const document of parseAllDocuments(Buffer.from(bytes).toString('utf8'))) {
      const content = getMembers(document.toJS())
      const metadata = getMembers(content['metadata'])
      if (content['kind'] !== policyKind) continue
      const name = `${String(metadata['namespace'])}/${String(metadata['name'])}`
      if (content['apiVersion'] === resourceApiVersion && metadata['namespace'] !== undefined) {
        // What the API server would fill in, or keep.
        const creationTimestamp = after.get(name)?.metadata['creationTimestamp'] ?? now
        const assigned = { generation: 1, resourceVersion: '1', uid: 'new', ...metadata, creationTimestamp }
        after.set(name, parseKubernetesObject({ ...content, metadata: assigned }))
      } else {
        const message = `the policy ${String(metadata['name'])} cannot be applied; expected apiVersion: ${resourceApiVersion} and metadata.namespace`
        problems.push({ file, message })
      }
    }
  }
  if (problems.length > 0) throw new PolicyError(problems)
  assertAnyPolicy(folder, parsed.flatMap(({ documents }) => documents).length)
  return [...after.values()]
}
