import type { Command } from 'commander'
import { formatProblem, type PolicyProblem } from '../../policy/language/policy-error.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import {
  assertAnyPolicy,
  compileContents,
  readPolicyFolder,
  type LoadedPolicies,
  type PolicyContents,
} from '../../policy/source/load-policies.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { configOption, type PolicyContext } from './policy-context.ts'
import { divideResources, readCluster, type Cluster } from './read-cluster.ts'
import type { DecisionTest } from '../../policy/testing/decision-test.ts'
import { parsePolicyFile } from '../../policy/source/parse-policy-file.ts'
import { formatResource, qualifyName } from '../../policy/source/kubernetes/resource-text.ts'
import {
  createReviewer,
  listDocuments,
  listRefusals,
  type NamespaceContent,
  type Review,
} from '../../policy/source/kubernetes/review-resources.ts'

interface LoadedResources {
  readonly reviews: readonly Review[]
  /** Those of accepted policies. */
  readonly tests: readonly DecisionTest[]
}

export const policiesOption = ['--policies <dir>', 'the folder of policies'] as const

/** Which policies a command is about. */
export interface SourceOptions {
  readonly policies?: string
  readonly kubernetes?: true
  readonly context?: string
  readonly kubectl: string
  readonly config?: string
}

/** Adds the options of `SourceOptions`; one source is required. */
export function addSourceOptions(command: Command): Command {
  return addClusterOptions(command.option(...policiesOption)).hook('preAction', () => {
    const { policies, kubernetes } = command.opts<SourceOptions>()
    if (policies === undefined && kubernetes === undefined)
      command.error('error: expected --policies <dir>, --kubernetes or both')
  })
}

/** Adds the options of `SourceOptions` except `--policies`. */
export function addClusterOptions(command: Command): Command {
  return command
    .option(
      '--kubernetes',
      'the AccessPolicy resources of a cluster, read with kubectl; with --config those that the gateway uses',
    )
    .option('--context <name>', 'the cluster: a context of the kubeconfig (default: the current one)')
    .option('--kubectl <path>', 'the program', 'kubectl')
    .option(...configOption)
    .hook('preAction', () => {
      if (command.opts<SourceOptions>().kubernetes) return
      const unused = ['context', 'kubectl'].find((name) => command.getOptionValueSource(name) === 'cli')
      if (unused !== undefined) command.error(`error: expected --kubernetes with --${unused}`)
    })
}

/** Policies as a gateway uses them. */
export interface LoadedSources extends LoadedPolicies {
  /** Errors in resources: the gateway does not use these resources, or only what they restrict. */
  readonly refused: readonly PolicyProblem[]
}

/**
 * Loads the policies of a folder, of a cluster, or of both. Throws CommandFailure with all errors in the folder, and if
 * there are no policies.
 */
export async function loadSources(options: SourceOptions, context: PolicyContext): Promise<LoadedSources> {
  const cluster = options.kubernetes && (await openCluster(options, context))
  return combineSources(options.policies, cluster, context)
}

/** Like `loadSources`, and prints the errors in resources. */
export async function requireSources(
  options: SourceOptions,
  context: PolicyContext,
  io: Io,
): Promise<LoadedPolicies> {
  return printRefused(io, await loadSources(options, context))
}

export function openCluster(
  { kubectl, context }: SourceOptions,
  { namespaces }: PolicyContext,
): Promise<Cluster> {
  return readCluster({ program: kubectl, context }, namespaces)
}

export async function combineSources(
  folder: string | undefined,
  cluster: Cluster | undefined,
  { vocabulary, namespaces }: PolicyContext,
): Promise<LoadedSources> {
  const files = folder === undefined ? nothing : await readFolder(folder, vocabulary)
  const contents = cluster === undefined ? [] : divideResources(cluster, namespaces)
  if (folder === undefined && contents.every(({ resources }) => resources.length === 0))
    throw new CommandFailure(
      'the cluster has no AccessPolicy resources that count; see --context and --config',
    )
  const { reviews, tests } = await loadResources(contents, vocabulary)
  const resources = { documents: listDocuments(reviews), tests }
  return { ...compileContents(mergeContents([files, resources])), refused: listRefusals(reviews) }
}

export function printRefused<Loaded extends LoadedSources>({ stderr }: Io, loaded: Loaded): Loaded {
  for (const problem of loaded.refused) stderr.write(`refused: ${formatProblem(problem)}\n`)
  return loaded
}

/** Loads the policies of folders. Throws CommandFailure with all errors, or if a folder has no policies. */
export async function requirePolicies(
  folders: readonly string[],
  vocabulary: PolicyVocabulary,
): Promise<LoadedPolicies> {
  const contents: PolicyContents[] = []
  for (const folder of folders) contents.push(await readFolder(folder, vocabulary))
  return compileContents(mergeContents(contents))
}

const nothing: PolicyContents = { documents: [], tests: [] }

function mergeContents(parts: readonly PolicyContents[]): PolicyContents {
  return {
    documents: parts.flatMap(({ documents }) => documents),
    tests: parts.flatMap(({ tests }) => tests),
  }
}

async function readFolder(folder: string, vocabulary: PolicyVocabulary): Promise<PolicyContents> {
  return runStep(`the policies in ${folder} cannot be used`, async () => {
    const contents = await readPolicyFolder(folder, vocabulary)
    assertAnyPolicy(folder, contents.documents.length)
    return contents
  })
}

/** Reads the resources of Kubernetes namespaces once, as a gateway does that watches them. */
async function loadResources(
  contents: readonly NamespaceContent[],
  vocabulary: PolicyVocabulary,
): Promise<LoadedResources> {
  const reviews = await createReviewer(vocabulary)(contents)
  const accepted = reviews.filter(({ reason }) => reason === 'Accepted')
  const tests = accepted.flatMap(({ resource }) =>
    parsePolicyFile(formatResource(resource), vocabulary).tests.map((test) => ({
      ...test,
      document: qualifyName(resource, test.document),
    })),
  )
  return { reviews, tests }
}
