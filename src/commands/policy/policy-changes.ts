import type { Command } from 'commander'
import { readAuditLog, readRecordedCall } from '../../audit/index.ts'
import { formatIdentifierText } from '../../catalog-api/index.ts'
import { formatCount, groupBy } from '../../lib/index.ts'
import {
  countCalls,
  diffPolicies,
  formatDecision,
  formatDiff,
  formatGroups,
  type ReplayedCalls,
  replayCalls,
} from '../../policy/index.ts'
import { collect, parseTimeOrAge } from '../common/arguments.ts'
import { CommandFailure, runStep } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { createLogProblems } from '../common/log-problems.ts'
import { addReport, configOption, loadSources, type Report } from './policy-command.ts'

interface DiffOptions {
  readonly config?: string
  readonly failOnChange?: true
}

export function addDiff(policy: Command, io: Io): void {
  const command = policy
    .command('diff')
    .description('list the decisions that differ between the current policies and candidates')
    .argument('<before>', 'the folder of the current policies')
    .argument('<after>', 'the folder of the candidates')
    .option(...configOption)
    .option('--fail-on-change', 'exit with status 1 if a decision or a restriction changes')
  addReport(command, io, ['diff policies candidate'], diff)

  async function diff(before: string, after: string, { config, failOnChange }: DiffOptions): Promise<Report> {
    const [one, other] = [await loadSources([before], config, io), await loadSources([after], config, io)]
    const found = await runStep('the policies cannot be compared', async () =>
      diffPolicies(one.set, other.set),
    )
    if (found.length === 0) return { content: found, lines: ['no decision changes'] }
    const lines = formatDiff(found, [...one.set.documents, ...other.set.documents])
    const failure = failOnChange ? `${found.length} decisions change` : undefined
    return { content: found, lines, failure }
  }
}

interface ReplayOptions {
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
  addReport(command, io, [example], (options: ReplayOptions) => replay(options, io))
  command.addHelpText(
    'after',
    '\nThe log contains no claims or context headers, no facts of reads and denials, no groups unless\n' +
      'audit.redaction.maxRecordedGroups says so, and no reads unless they are recorded.\n' +
      'Requests that depend on missing data are counted as undecided.',
  )
}

async function replay(options: ReplayOptions, io: Io): Promise<Report> {
  const { audit, candidate, config, since, failOnChange } = options
  const { set } = await loadSources(candidate, config, io)
  const problems = createLogProblems(io)
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
    `    before: ${formatDecision(before)}`,
    `    after:  ${formatDecision(after)}`,
    `    for example ${time} on ${formatIdentifierText(id)}, request ${request}`,
  ]
}
