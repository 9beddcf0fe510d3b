import type { Command } from 'commander'
import type { GatewaySettings } from '../../config/index.ts'
import {
  assertAnyPolicy,
  compileContents,
  createPolicyVocabulary,
  createSettingsVocabulary,
  type LoadedPolicies,
  type PolicyVocabulary,
  readPolicies,
} from '../../policy/index.ts'
import { collect, readConfig } from '../common/arguments.ts'
import { runStep } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'

/** Which policies a command is about. */
export interface SourceOptions {
  readonly policies: readonly string[]
  readonly config?: string
}

/** Adds the options of `SourceOptions`; one of them is required. */
export function addSourceOptions(command: Command): Command {
  return command
    .option('--policies <dir>', 'a folder of policies; repeatable', collect, [])
    .option(...configOption)
    .hook('preAction', () => {
      const { policies, config } = command.opts<SourceOptions>()
      if (policies.length === 0 && config === undefined)
        command.error('error: expected --policies <dir> or --config <file>')
    })
}

export const configOption = [
  '--config <file>',
  'the settings of the gateway: its policy folders, and extra operations that policies name',
] as const

/** Where the policies are that a command is about, and what may be in them. */
interface PolicyContext {
  /** Those of the options, or else of the settings. */
  readonly folders: readonly string[]
  /** The operations that policies may name: those of the catalog API, and extra ones of the settings. */
  readonly vocabulary: PolicyVocabulary
  readonly settings: GatewaySettings | undefined
}

/** The vocabulary without settings: the policies may be those of `dev`. */
const anySettings = createPolicyVocabulary({ acceptsDevelopment: true })

/** Reads the settings, if the options name them. Throws CommandFailure with all errors in them. */
export async function readPolicyContext(
  config: string | undefined,
  io: Io,
  policies: readonly string[] = [],
): Promise<PolicyContext> {
  const settings = config === undefined ? undefined : await readConfig(config, io)
  return {
    folders: policies.length === 0 ? (settings?.policies.folder ?? []) : policies,
    vocabulary: settings === undefined ? anySettings : createSettingsVocabulary(settings),
    settings,
  }
}

/** Loads the policies of folders. Throws CommandFailure with all errors in them, and if there are none. */
export function loadSources(
  { vocabulary, folders }: PolicyContext,
  others = folders,
): Promise<LoadedPolicies> {
  const names = others.join(' and ')
  return runStep(`the policies in ${names} cannot be used`, async () => {
    const contents = await readPolicies(others, vocabulary)
    assertAnyPolicy(names, contents.documents.length)
    return compileContents(contents)
  })
}
