import { formatCount } from '../../lib/format-count.ts'
import type { Command } from 'commander'
import { formatExample } from '../common/format-example.ts'
import { jsonOption } from '../common/arguments.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import type { Finding } from '../../policy/analysis/lint/finding.ts'
import { listIgnoredFiles, namePolicyFolders } from '../../policy/source/policy-folder.ts'
import { lintWithShadowPolicies } from '../../policy/analysis/lint/lint-policies.ts'
import type { PolicyProblem } from '../../policy/language/policy-error.ts'
import { CommandFailure } from '../common/command-failure.ts'
import { readPolicyContext } from './policy-context.ts'
import { readKnownSettings } from './read-known-settings.ts'
import { addSourceOptions, loadSources, selectFolders, type SourceOptions } from './policy-sources.ts'
import { alignColumns } from './format-policy.ts'

interface Options extends SourceOptions {
  readonly strict?: true
  readonly json?: true
  readonly groups?: string
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
    .option('--groups <file>', 'the groups that exist, one a line; others are warnings')
    .option(...jsonOption)
    .addHelpText('after', formatExample('catalog-gateway policy lint --policies policies --strict'))
    .action((options: Options) => lint(options, io))
}

async function lint(options: Options, io: Io): Promise<void> {
  const { strict, json } = options
  const context = await readPolicyContext(options, io)
  const loaded = await loadSources(options, context)
  const known = await readKnownSettings(context.settings, options.groups)
  const folders = namePolicyFolders(selectFolders(options, context))
  const ignored = await Promise.all(folders.map(listIgnoredFiles))
  const findings = [
    ...loaded.refused.map(toFinding),
    ...ignored.flat().map(createIgnoredFinding),
    ...lintWithShadowPolicies(loaded, known),
  ]
  if (json) printJson(io, findings)
  else {
    const rows = findings.map(({ level, check, file, line, column, message }) => [
      column === undefined ? `${file}:${line}` : `${file}:${line}:${column}`,
      level,
      check,
      message,
    ])
    for (const line of alignColumns(rows)) printLine(io, line)
  }
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

function toFinding({ file, line = 1, message }: PolicyProblem): Finding {
  return { level: 'error', check: 'refused', file, line, message }
}
