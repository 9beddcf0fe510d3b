import { formatCount } from '../../lib/index.ts'
import type { Command } from 'commander'
import { printLine, type Io } from '../common/io.ts'
import { formatExample, jsonOption } from '../common/new-command.ts'
import { type GatewaySettings, listIssuerNames } from '../../config/index.ts'
import { readUsableKeys } from '../../identity/index.ts'
import {
  createRefusedFinding,
  type Finding,
  type KnownCredentials,
  lintWithShadowPolicies,
  listIgnoredFiles,
} from '../../policy/index.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { addSourceOptions, loadSources, type SourceOptions } from './policy-sources.ts'
import { alignColumns, printReport } from './format-policy.ts'

interface Options extends SourceOptions {
  readonly strict?: true
  readonly json?: true
}

export function addLint(policy: Command, io: Io): void {
  addSourceOptions(
    policy
      .command('lint')
      .description(
        'find rules that never apply, are redundant or can be bypassed, and other likely mistakes',
      ),
  )
    .option('--strict', 'fail on warnings')
    .option(...jsonOption)
    .addHelpText('after', formatExample('catalog-gateway policy lint --policies policies --strict'))
    .action((options: Options) => lint(options, io))
}

async function lint(options: Options, io: Io): Promise<void> {
  const { strict, json } = options
  const loaded = await loadSources(options, io)
  const known = loaded.settings && (await readKnownCredentials(loaded.settings))
  const ignored = await listIgnoredFiles(loaded.folders)
  const findings = [
    ...loaded.refused.map(createRefusedFinding),
    ...ignored.map(({ name }) => createIgnoredFinding(name)),
    ...lintWithShadowPolicies(loaded, known),
  ]
  const rows = findings.map(({ level, check, file, line, column, message }) => [
    column === undefined ? `${file}:${line}` : `${file}:${line}:${column}`,
    level,
    check,
    message,
  ])
  printReport(io, json, findings, alignColumns(rows))
  const count = (wanted: string): number => findings.filter(({ level }) => level === wanted).length
  const [errors, warnings] = [count('error'), count('warning')]
  const policies = formatCount(loaded.withShadowPolicies.documents.length, 'policy', 'policies')
  const summary = `${formatCount(errors, 'error')}, ${formatCount(warnings, 'warning')} in ${policies}`
  if (errors > 0 || (strict && warnings > 0)) throw new CommandFailure(summary)
  if (!json) printLine(io, summary)
}

function createIgnoredFinding(file: string): Finding {
  return { level: 'info', check: 'ignored', file, line: 1, message: 'is not read; expected .yaml or .yml' }
}

/** Reads the names that the settings and the API keys give. Throws CommandFailure if a file cannot be read. */
async function readKnownCredentials({ identity }: GatewaySettings): Promise<KnownCredentials> {
  const { apiKeys, bootstrapKey } = identity
  const stored =
    apiKeys &&
    (await runStep(`the API keys in ${apiKeys.store} cannot be read`, () => readUsableKeys(apiKeys.store)))
  const keys = [...(stored?.keys ?? []), ...(bootstrapKey === undefined ? [] : [bootstrapKey])]
  return {
    issuers: listIssuerNames(identity),
    principals: new Set(keys.map(({ principal }) => principal)),
    groups: new Set(keys.flatMap(({ groups }) => groups)),
  }
}
