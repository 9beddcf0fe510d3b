import { alignColumns, formatCount } from '../../lib/index.ts'
import type { Command } from 'commander'
import type { Io } from '../common/io.ts'
import { type GatewaySettings, listIssuerNames } from '../../config/index.ts'
import { listKeys, type StoredKey } from '../../identity/index.ts'
import {
  type Finding,
  type KnownCredentials,
  lintWithShadowPolicies,
  listIgnoredFiles,
} from '../../policy/index.ts'
import { runStep } from '../common/command-failure.ts'
import { addSourceReport, type Report, type SourcePolicies } from './policy-command.ts'

export function addLint(policy: Command, io: Io): void {
  const command = policy
    .command('lint')
    .description('find rules that never apply, are redundant or can be bypassed, and other likely mistakes')
    .option('--strict', 'fail on warnings')
  addSourceReport(command, io, ['lint --policies policies --strict'], lint)
}

async function lint(loaded: SourcePolicies, options: { readonly strict?: true }): Promise<Report> {
  const store = loaded.settings?.identity.apiKeys?.store
  const keys =
    store === undefined ? [] : await runStep(`the API keys in ${store} cannot be read`, () => listKeys(store))
  const known = loaded.settings && listKnownCredentials(loaded.settings, keys)
  const ignored = await listIgnoredFiles(loaded.folders)
  const findings = [
    ...ignored.map((name): Finding => {
      const message = 'is not read; expected .yaml or .yml'
      return { level: 'info', check: 'ignored', file: name, line: 1, message }
    }),
    ...lintWithShadowPolicies(loaded, known),
  ]
  const rows = findings.map(({ level, check, file, line, column, message }) => {
    const position = column === undefined ? `${file}:${line}` : `${file}:${line}:${column}`
    return [position, level, check, message]
  })
  const { errors, warnings, text } = countFindings(findings)
  const policies = formatCount(loaded.withShadowPolicies.documents.length, 'policy', 'policies')
  const summary = `${text} in ${policies}`
  const lines = alignColumns(rows)
  if (errors > 0 || (options.strict && warnings > 0)) return { content: findings, lines, failure: summary }
  return { content: findings, lines: [...lines, summary] }
}

export function countFindings(findings: readonly Finding[]) {
  const count = (wanted: string): number => findings.filter(({ level }) => level === wanted).length
  const [errors, warnings] = [count('error'), count('warning')]
  return { errors, warnings, text: `${formatCount(errors, 'error')}, ${formatCount(warnings, 'warning')}` }
}

/** Lists the names that the settings and the API keys give. */
export function listKnownCredentials(
  { identity }: GatewaySettings,
  stored: readonly StoredKey[],
): KnownCredentials {
  const keys = [...stored, ...(identity.bootstrapKey === undefined ? [] : [identity.bootstrapKey])]
  return {
    issuers: listIssuerNames(identity),
    principals: new Set(keys.map(({ principal }) => principal)),
    groups: new Set(keys.flatMap(({ groups }) => groups)),
  }
}
