import type { Command } from 'commander'
import { lintPolicies } from '../../policy/analysis/lint/lint-policies.ts'
import { CommandFailure } from '../common/command-failure.ts'
import {
  configOption,
  jsonOption,
  readVocabulary,
  requirePolicies,
  policiesOption,
} from './policy-options.ts'
import { alignColumns, printLine, printJson } from './format-policy.ts'

interface Options {
  readonly policies: string
  readonly config?: string
  readonly strict?: true
  readonly json?: true
}

export function addLint(policy: Command): void {
  policy
    .command('lint')
    .description('find rules that never apply, are redundant or can be bypassed, and other likely mistakes')
    .requiredOption(...policiesOption)
    .option(...configOption)
    .option('--strict', 'fail on warnings')
    .option(...jsonOption)
    .addHelpText('after', '\nExample:\n  catalog-gateway policy lint --policies policies --strict')
    .action(lint)
}

async function lint({ policies, config, strict, json }: Options): Promise<void> {
  const { documents, set, tests } = await requirePolicies(policies, await readVocabulary(config))
  const findings = lintPolicies(documents, set, tests)
  if (json) printJson(findings)
  else {
    const rows = findings.map(({ level, check, file, line, message }) => [
      `${file}:${line}`,
      level,
      check,
      message,
    ])
    for (const line of alignColumns(rows)) printLine(line)
  }
  const count = (wanted: string): number => findings.filter(({ level }) => level === wanted).length
  const [errors, warnings] = [count('error'), count('warning')]
  const summary = `${errors} errors, ${warnings} warnings in ${documents.length} policies`
  if (errors > 0 || (strict && warnings > 0)) throw new CommandFailure(summary)
  if (!json) printLine(summary)
}
