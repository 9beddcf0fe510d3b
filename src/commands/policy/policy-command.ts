import type { Command } from 'commander'
import {
  assertAnyPolicy,
  createPolicyVocabulary,
  createSettingsVocabulary,
  loadPolicies,
} from '../../policy/index.ts'
import { collect, readConfig } from '../common/arguments.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { formatExample, jsonOption } from '../common/new-command.ts'

/** The result of a command. */
export interface Report {
  /** For `--json`. */
  readonly content: unknown
  readonly lines: readonly string[]
  /** Why the command fails after it has printed the report. */
  readonly failure?: string | undefined
}

/** The arguments and options of a command, whose types its definition has. */
type Arguments = Parameters<Parameters<Command['action']>[0]>

/** Completes a command that prints a report, as lines or as JSON. `find` takes the arguments of the command. */
export function addReport(
  command: Command,
  io: Io,
  examples: readonly string[],
  find: (...args: Arguments) => Promise<Report>,
): void {
  command
    .option(...jsonOption)
    .addHelpText('after', formatExample(...examples.map((example) => `catalog-gateway policy ${example}`)))
    .action(async (...args) => {
      const { content, lines, failure } = await find(...args)
      if (command.opts()['json']) printJson(io, content)
      else for (const line of lines) printLine(io, line)
      if (failure !== undefined) throw new CommandFailure(failure)
    })
}

/** Policies, their vocabulary, and the settings of `--config`. */
export type SourcePolicies = Awaited<ReturnType<typeof loadSources>>

/** Completes a command about the policies of `--policies`, or else of the settings. `find` takes these and the arguments. */
export function addSourceReport(
  command: Command,
  io: Io,
  examples: readonly string[],
  find: (policies: SourcePolicies, ...args: Arguments) => Report | Promise<Report>,
): void {
  command.option('--policies <dir>', 'a folder of policies; repeatable', collect).option(...configOption)
  addReport(command, io, examples, async (...args) => {
    const { policies = [], config } = command.opts<{ policies?: readonly string[]; config?: string }>()
    if (policies.length === 0 && config === undefined)
      command.error('error: expected --policies <dir> or --config <file>')
    return find(await loadSources(policies, config, io), ...args)
  })
}

export const configOption = [
  '--config <file>',
  'the settings of the gateway: its policy folders, and extra operations that policies name',
] as const

/** The vocabulary without settings: the policies may be those of `dev`. */
const anySettings = createPolicyVocabulary({ acceptsDevelopment: true })

/** Loads the policies of folders; without any, those of the settings. Throws CommandFailure with all errors in them, and if there are none. */
export async function loadSources(paths: readonly string[], config: string | undefined, io: Io) {
  const settings = config === undefined ? undefined : await readConfig(config, io)
  const vocabulary = settings === undefined ? anySettings : createSettingsVocabulary(settings)
  const folders = paths.length === 0 ? (settings?.policies.folder ?? []) : paths
  const names = folders.join(' and ')
  return runStep(`the policies in ${names} cannot be used`, async () => {
    const loaded = await loadPolicies(folders, vocabulary)
    assertAnyPolicy(names, loaded.withShadowPolicies.documents.length)
    return { ...loaded, folders, vocabulary, settings }
  })
}
