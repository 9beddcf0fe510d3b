import { formatCount } from '../../lib/format-count.ts'
import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import { readAuditLog, readRecordedCall } from '../../audit/index.ts'
import { listKeys } from '../../identity/index.ts'
import { groupBy } from '../../lib/group-by.ts'
import { countCalls, ReplayTally } from '../../policy/analysis/replay.ts'
import { collect, jsonOption, parseTimeOrAge } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { LogProblems } from '../common/log-problems.ts'
import { configOption, readPolicyContext, requirePolicies } from './policy-sources.ts'
import { formatDecided, printReport } from './format-policy.ts'

interface Options {
  readonly audit: string
  readonly candidate: readonly string[]
  readonly current: readonly string[]
  readonly config?: string
  readonly keys?: string
  readonly since?: Date
  readonly failOnChange?: true
  readonly json?: true
}

export function addReplay(policy: Command, io: Io): void {
  policy
    .command('replay')
    .description(
      'replay the requests of an audit log against other policies and list the decisions that change',
    )
    .requiredOption('--audit <dir>', 'the folder of the audit log')
    .requiredOption('--candidate <dir>', 'a folder of candidate policies; repeatable', collect)
    .option(
      '--current <dir>',
      'a folder of policies in force when the log was written, used to infer the groups of callers; repeatable',
      collect,
      [],
    )
    .option(...configOption)
    .option('--keys <file>', 'the API key store, or a folder of key stores, used to look up groups')
    .option(
      '--since <time>',
      'only requests since this time, such as 2026-01-31T00:00:00Z or 1h (one hour ago)',
      parseTimeOrAge,
    )
    .option('--fail-on-change', 'exit with status 1 if a decision or a restriction changes')
    .option(...jsonOption)
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway policy replay --audit .catalog-gateway/audit --candidate candidate --current policies',
      ),
    )
    .addHelpText(
      'after',
      '\nThe log contains no claims or context headers, no facts of reads and denials, no groups unless\n' +
        'audit.redaction.maxRecordedGroups says so, and no reads unless they are recorded.\n' +
        'Requests that depend on missing data are counted as undecided.',
    )
    .action((options: Options) => replay(options, io))
}

async function replay(
  { audit, candidate, current, config, keys, since, failOnChange, json }: Options,
  io: Io,
): Promise<void> {
  const { vocabulary } = await readPolicyContext({ ...(config !== undefined && { config }) }, io)
  const { set } = await requirePolicies(candidate, vocabulary)
  const inForce = current.length === 0 ? undefined : await requirePolicies(current, vocabulary)
  const stored = keys === undefined ? [] : await runStep('the keys cannot be listed', () => listKeys(keys))
  const groupsOfKeys = new Map(stored.map(({ id, groups }) => [id, groups]))
  const tally = new ReplayTally({ candidate: set, keys: groupsOfKeys, current: inForce?.set })
  const problems = new LogProblems(io)
  await runStep('the audit log cannot be read', async () => {
    for await (const record of readAuditLog(audit, since, problems.report)) {
      if (since !== undefined && Date.parse(record.time) < since.getTime()) continue
      tally.add(readRecordedCall(record))
    }
  })
  const result = tally.getResult()
  const { calls, changed, restricted } = result
  if (calls === 0)
    throw new CommandFailure(`${audit} contains no requests; is it the folder of an audit log?`)
  printReport(io, json, result, formatReplay(result))
  problems.assertNone()
  if (failOnChange && changed.length > 0) throw new CommandFailure(`${countCalls(changed)} decisions change`)
  if (failOnChange && restricted.length > 0)
    throw new CommandFailure(`${countCalls(restricted)} calls would be restricted otherwise`)
}

type Result = ReturnType<ReplayTally['getResult']>
type Calls = Result['changed'][number]

function formatReplay({ calls, unchanged, changed, undecided, restricted }: Result): readonly string[] {
  const byOperation = groupBy(changed, ({ operation }) => operation)
  const byReason = groupBy(undecided, ({ missing = [] }) => missing.join(' and '))
  return [
    ...[...byOperation].flatMap(([operation, all]) => [operation, ...all.flatMap(formatChanged)]),
    ...[...byReason].map(
      ([missing, all]) => `undecided: ${countCalls(all)}, because the log does not contain ${missing}`,
    ),
    ...restricted.flatMap(formatRestricted),
    ...(restricted.length === 0
      ? []
      : [
          `restricted otherwise: ${countCalls(restricted)}; the log does not contain their filters and columns, so restrictions may also refuse them`,
        ]),
    `${calls} calls: ${unchanged} unchanged, ${countCalls(changed)} changed, ${countCalls(undecided)} undecided`,
  ]
}

function formatChanged(calls: Calls): readonly string[] {
  const { principal, count, before, after = { allowed: false } } = calls
  const [was, is] = before.allowed ? ['allowed', 'denied'] : ['denied', 'allowed']
  return [
    `  ${principal}: ${was} -> ${is}, ${formatCount(count, 'call')}`,
    `    before: ${formatDecided(before)}`,
    `    after:  ${formatDecided(after)}`,
    `    ${formatCallExample(calls)}`,
  ]
}

function formatRestricted(calls: Calls): readonly string[] {
  const { operation, principal, count, restrictions } = calls
  const { before, after, possible } = restrictions ?? { before: [], after: [], possible: [] }
  const others =
    possible.length === 0 ? '' : `; depending on the caller, restricted by ${possible.join(' and ')}`
  return [
    `${operation} by ${principal}, ${formatCount(count, 'call')}`,
    `  before: ${formatRestrictions(before)}`,
    `  after:  ${formatRestrictions(after)}${others}`,
    `  ${formatCallExample(calls)}`,
  ]
}

function formatCallExample({ example: { time, id, request } }: Calls): string {
  return `for example ${time} on ${formatIdentifierText(id)}, request ${request}`
}

function formatRestrictions(names: readonly string[]): string {
  return names.length === 0 ? 'not restricted' : `restricted by ${names.join(' and ')}`
}
