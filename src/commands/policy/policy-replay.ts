import { formatCount, groupBy } from '../../lib/index.ts'
import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/index.ts'
import type { Io } from '../common/io.ts'
import { readAuditLog, readRecordedCall } from '../../audit/index.ts'
import {
  countCalls,
  formatAnswer,
  formatGroups,
  type ReplayedCalls,
  replayCalls,
} from '../../policy/index.ts'
import { collect, parseTimeOrAge } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { LogProblems } from '../common/log-problems.ts'
import { addReport, configOption, loadSources, type Report } from './policy-command.ts'

interface Options {
  readonly audit: string
  readonly candidate: readonly string[]
  readonly config?: string
  readonly since?: Date
  readonly failOnChange?: true
}

export function addReplay(policy: Command, io: Io): void {
  const command = policy
    .command('replay')
    .description(
      'replay the requests of an audit log against other policies and list the decisions that change',
    )
    .requiredOption('--audit <dir>', 'the folder of the audit log')
    .requiredOption('--candidate <dir>', 'a folder of candidate policies; repeatable', collect)
    .option(...configOption)
    .option(
      '--since <time>',
      'only requests since this time, such as 2026-01-31T00:00:00Z or 1h (one hour ago)',
      parseTimeOrAge,
    )
    .option('--fail-on-change', 'exit with status 1 if a decision changes')
  const example = 'replay --audit .catalog-gateway/audit --candidate candidate'
  addReport(command, io, [example], (options: Options) => replay(options, io))
  command.addHelpText(
    'after',
    '\nThe log contains no claims or context headers, no facts of reads and denials, no groups unless\n' +
      'audit.redaction.maxRecordedGroups says so, and no reads unless they are recorded.\n' +
      'Requests that depend on missing data are counted as undecided.',
  )
}

async function replay(options: Options, io: Io): Promise<Report> {
  const { audit, candidate, config, since, failOnChange } = options
  const { set } = await loadSources(candidate, config, io)
  const problems = new LogProblems(io)
  async function* readCalls() {
    for await (const record of readAuditLog(audit, since, problems.report))
      if (since === undefined || Date.parse(record.time) >= since.getTime()) yield readRecordedCall(record)
  }
  const result = await runStep('the audit log cannot be read', () => replayCalls(readCalls(), set))
  const { calls, changed } = result
  if (calls === 0)
    throw new CommandFailure(`${audit} contains no requests; is it the folder of an audit log?`)
  const changes = failOnChange && changed.length > 0 ? `${countCalls(changed)} decisions change` : undefined
  const failure = problems.describe() ?? changes
  return { content: result, lines: formatReplay(result), failure }
}

type Result = Awaited<ReturnType<typeof replayCalls>>

function formatReplay({ calls, unchanged, changed, undecided }: Result): readonly string[] {
  const byReason = groupBy(undecided, ({ missing = [] }) => missing.join(' and '))
  return [
    ...formatGroups(changed.map(formatChanged)),
    ...[...byReason].map(
      ([missing, all]) => `undecided: ${countCalls(all)}, because the log does not contain ${missing}`,
    ),
    `${calls} calls: ${unchanged} unchanged, ${countCalls(changed)} changed, ${countCalls(undecided)} undecided`,
  ]
}

/** The first line is the operation. */
function formatChanged(calls: ReplayedCalls): readonly string[] {
  const { operation, principal, count, before, after = { allowed: false }, example } = calls
  const { time, id, request } = example
  return [
    operation,
    `  ${principal}: ${before.allowed ? 'allowed -> denied' : 'denied -> allowed'}, ${formatCount(count, 'call')}`,
    `    before: ${formatAnswer(before)}`,
    `    after:  ${formatAnswer(after)}`,
    `    for example ${time} on ${formatIdentifierText(id)}, request ${request}`,
  ]
}
