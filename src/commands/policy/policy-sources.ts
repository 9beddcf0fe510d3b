import type { Command } from 'commander'
import { type GatewaySettings } from '../../config/index.ts'
import { formatProblem, type PolicyProblem } from '../../policy/language/policy-error.ts'
import { createPolicyVocabulary, type PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { assertAnyPolicy } from '../../policy/source/document-problems.ts'
import {
  compileContents,
  createSettingsVocabulary,
  readPolicies,
  type LoadedPolicies,
} from '../../policy/source/load-policies.ts'
import { collect, readConfig } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { readCluster, reviewCluster, type Cluster } from './cluster.ts'

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

/** What a command knows of the gateway and the cluster whose policies it is about. */
interface PolicyContext {
  /** The operations that policies may name: those of the catalog API, and extra ones of the settings. */
  readonly vocabulary: PolicyVocabulary
  readonly settings: GatewaySettings | undefined
  /** Undefined without `--kubernetes`. */
  readonly cluster: Cluster | undefined
}

/** The vocabulary without settings: the policies may be those of `dev`. */
export const anySettings = createPolicyVocabulary({ acceptsDevelopment: true })

/**
 * Reads the settings and the cluster of kubectl, as the options say. Throws CommandFailure with all errors in the settings,
 * and if they use no resources although the command does.
 */
export async function readPolicyContext(
  { config, kubernetes }: Partial<SourceOptions>,
  io: Io,
): Promise<PolicyContext> {
  const settings = config === undefined ? undefined : await readConfig(config, io)
  const namespaces = settings?.policies.kubernetes?.namespaces
  if (kubernetes && settings !== undefined && namespaces === undefined)
    throw new CommandFailure(
      `the settings in ${config ?? ''} contain no policies.kubernetes, so their gateway uses no resources; omit --kubernetes`,
    )
  return {
    vocabulary: settings === undefined ? anySettings : createSettingsVocabulary(settings),
    settings,
    cluster: kubernetes && (await readCluster(namespaces)),
  }
}

/** Policies as a gateway uses them. */
interface LoadedSources extends LoadedPolicies, PolicyContext {
  readonly folders: readonly string[]
  /** Errors in resources: the gateway does not use these resources, or only what they restrict. */
  readonly refused: readonly PolicyProblem[]
}

/**
 * Loads the policies of folders, of a cluster, or of both; those of the folders of the settings if no other source is given.
 * `given` is what the command has read already. Throws CommandFailure as `combineSources` does.
 */
export async function loadSources(
  options: SourceOptions,
  io: Io,
  given?: PolicyContext,
): Promise<LoadedSources> {
  const context = given ?? (await readPolicyContext(options, io))
  const { policies, kubernetes } = options
  const folders = policies.length === 0 && !kubernetes ? (context.settings?.policies.folder ?? []) : policies
  return combineSources(folders, context)
}

/** Like `loadSources`, and prints the errors in resources. */
export async function requireSources(
  options: SourceOptions,
  io: Io,
  given?: PolicyContext,
): Promise<LoadedSources> {
  return printRefused(await loadSources(options, io, given), io)
}

export function printRefused<Loaded extends LoadedSources>(loaded: Loaded, { stderr }: Io): Loaded {
  for (const problem of loaded.refused) stderr.write(`refused: ${formatProblem(problem)}\n`)
  return loaded
}

/** Throws CommandFailure with all errors in the folders, and if there are no policies. */
export async function combineSources(
  folders: readonly string[],
  context: PolicyContext,
): Promise<LoadedSources> {
  const { vocabulary, settings, cluster } = context
  const names = folders.join(' and ')
  const files = await runStep(`the policies in ${names} cannot be used`, async () => {
    const contents = await readPolicies(folders, vocabulary)
    if (folders.length > 0) assertAnyPolicy(names, contents.documents.length)
    return contents
  })
  const namespaces = settings?.policies.kubernetes?.namespaces
  const resources = cluster && (await reviewCluster(cluster, namespaces, vocabulary))
  if (folders.length === 0 && resources === undefined)
    throw new CommandFailure(
      'the cluster has no AccessPolicy resources that count; see --config, and the context of kubectl',
    )
  const { documents = [], tests = [], refused = [] } = resources ?? {}
  const merged = { documents: [...files.documents, ...documents], tests: [...files.tests, ...tests] }
  return { ...context, ...compileContents(merged), folders, refused }
}

/** Loads the policies of folders alone, as `combineSources` does. */
export function requirePolicies(
  folders: readonly string[],
  vocabulary: PolicyVocabulary,
): Promise<LoadedPolicies> {
  return combineSources(folders, { vocabulary, settings: undefined, cluster: undefined })
}
