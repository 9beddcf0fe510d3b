import type { Command } from 'commander'
import { formatProblem, type PolicyProblem } from '../../policy/language/policy-error.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { assertAnyPolicy } from '../../policy/source/document-problems.ts'
import {
  compileContents,
  readPolicies,
  type LoadedPolicies,
  type PolicyContents,
} from '../../policy/source/load-policies.ts'
import { collect } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { configOption, type PolicyContext } from './policy-context.ts'
import { divideResources, readCluster, type Cluster } from './read-cluster.ts'
import type { DecisionTest } from '../../policy/testing/decision-test.ts'
import { parsePolicyFile } from '../../policy/source/parse-policy-files.ts'
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

/** Policies as a gateway uses them. */
export interface LoadedSources extends LoadedPolicies {
  /** Errors in resources: the gateway does not use these resources, or only what they restrict. */
  readonly refused: readonly PolicyProblem[]
}

/**
 * Loads the policies of folders, of a cluster, or of both. Throws CommandFailure with all errors in the folders, and if
 * there are no policies.
 */
export async function loadSources(options: SourceOptions, context: PolicyContext): Promise<LoadedSources> {
  const cluster = options.kubernetes && (await readCluster(context.namespaces))
  return combineSources(selectFolders(options, context), cluster, context)
}

/** Returns the folders that a command reads: those of the settings if no other source is given. */
export function selectFolders(
  { policies, kubernetes }: SourceOptions,
  { settings }: PolicyContext,
): readonly string[] {
  return policies.length === 0 && !kubernetes ? (settings?.policies.folder ?? []) : policies
}

/** Like `loadSources`, and prints the errors in resources. */
export async function requireSources(
  options: SourceOptions,
  context: PolicyContext,
  io: Io,
): Promise<LoadedPolicies> {
  return printRefused(io, await loadSources(options, context))
}

export async function combineSources(
  folders: readonly string[],
  cluster: Cluster | undefined,
  { vocabulary, namespaces }: PolicyContext,
): Promise<LoadedSources> {
  const files = await readFolders(folders, vocabulary)
  const contents = cluster === undefined ? [] : divideResources(cluster, namespaces)
  if (folders.length === 0 && contents.every(({ resources }) => resources.length === 0))
    throw new CommandFailure(
      'the cluster has no AccessPolicy resources that count; see --config, and the context of kubectl',
    )
  const { reviews, tests } = await loadResources(contents, vocabulary)
  const resources = { documents: listDocuments(reviews), tests }
  const merged = {
    documents: [...files.documents, ...resources.documents],
    tests: [...files.tests, ...resources.tests],
  }
  return { ...compileContents(merged), refused: listRefusals(reviews) }
}

export function printRefused<Loaded extends LoadedSources>({ stderr }: Io, loaded: Loaded): Loaded {
  for (const problem of loaded.refused) stderr.write(`refused: ${formatProblem(problem)}\n`)
  return loaded
}

/** Loads the policies of folders. Throws CommandFailure with all errors, or if there are no policies. */
export async function requirePolicies(
  folders: readonly string[],
  vocabulary: PolicyVocabulary,
): Promise<LoadedPolicies> {
  return compileContents(await readFolders(folders, vocabulary))
}

async function readFolders(
  folders: readonly string[],
  vocabulary: PolicyVocabulary,
): Promise<PolicyContents> {
  const names = folders.join(' and ')
  return runStep(`the policies in ${names} cannot be used`, async () => {
    const contents = await readPolicies(folders, vocabulary)
    if (folders.length > 0) assertAnyPolicy(names, contents.documents.length)
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
