import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { readAuditLogs } from '../../audit/storage/read-audit-log.ts'
import { listKeys } from '../../identity/api-keys/key-store.ts'
import type { LoadedPolicies } from '../../policy/source/load-policies.ts'
import { groupBy } from '../../lib/group-by.ts'
import { createGroupFinder, type FindGroups, type GroupSource } from '../../audit/replay/known-groups.ts'
import { replayRecord, type ReplayedCall } from '../../audit/replay/replay-record.ts'
import { indexDocuments, createRuleReference } from '../../policy/analysis/reaching-rules.ts'
import { parseTimeOrAge } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { jsonOption } from './policy-options.ts'
import { configOption, readPolicyContext } from './policy-context.ts'
import { requirePolicies } from './policy-sources.ts'
import { formatReachingRule, formatRuleReference } from './format-policy.ts'

interface Options {
  readonly audit: string
  readonly candidate: string
  readonly current?: string
  readonly config?: string
  readonly keys?: string
  readonly since?: Date
  readonly failOnChange?: true
  readonly json?: true
}

interface Tally {
  readonly example: ReplayedCall
  readonly count: number
}

export function addReplay(policy: Command, io: Io): void {
  policy
    .command('replay')
    .description(
      'replay the requests of an audit log against other policies and list the decisions that change',
    )
    .requiredOption('--audit <dir>', 'the folder of the audit log')
    .requiredOption('--candidate <dir>', 'the candidate policies')
    .option(
      '--current <dir>',
      'the policies in force when the log was written, used to infer the groups of callers',
    )
    .option(...configOption)
    .option('--keys <file>', 'the API key store, or a folder of key stores, used to look up groups')
    .option(
      '--since <time>',
      'only requests since this time, such as 2026-01-31T00:00:00Z or 1h (one hour ago)',
      parseTimeOrAge,
    )
    .option('--fail-on-change', 'exit with status 1 if a decision changes')
    .option(...jsonOption)
    .addHelpText(
      'after',
      '\nExample:\n  catalog-gateway policy replay --audit .catalog-gateway/audit --candidate candidate --current policies\n\n' +
        'The log contains no claims or context headers, no facts of reads and denials, no groups unless\n' +
        'audit.redaction.maxRecordedGroups says so, and no reads unless they are recorded.\n' +
        'Requests that depend on missing data are counted as undecided.',
    )
    .action((options: Options) => replay(options, io))
}

async function replay(
  { audit, candidate, current, config, keys, since, failOnChange, json }: Options,
  io: Io,
): Promise<void> {
  const { vocabulary } = await readPolicyContext({ config }, io)
  const { documents } = await requirePolicies([candidate], vocabulary)
  const index = indexDocuments(documents)
  const policies = current === undefined ? undefined : await requirePolicies([current], vocabulary)
  const groupsOf = await loadGroups(keys, policies)
  const currentIndex = policies && indexDocuments(policies.documents)
  const tallies = new Map<string, Tally>()
  const decidedByGroups: Record<GroupSource, number> = { recorded: 0, keys: 0, inferred: 0 }
  await runStep('the audit log cannot be read', async () => {
    for await (const record of readAuditLogs(audit, since)) {
      if (since !== undefined && Date.parse(record.time) < since.getTime()) continue
      const isCurrent = record.kind === 'intent' && record.policyRevision === policies?.set.revision
      const call = replayRecord(record, index, groupsOf, isCurrent ? currentIndex : undefined)
      if (call === undefined) continue
      if (call.groupSource !== undefined) decidedByGroups[call.groupSource] += 1
      const key = tallyKey(call)
      const before = tallies.get(key)
      tallies.set(key, { example: before?.example ?? call, count: (before?.count ?? 0) + 1 })
    }
  })
  const all = [...tallies.values()]
  const total = countCalls(all)
  if (total === 0)
    throw new CommandFailure(`${audit} contains no requests; is it the folder of an audit log?`)
  const changed = all.filter(({ example }) => isChanged(example))
  const undecided = all.filter(({ example }) => example.isAllowed === undefined)
  const unchanged = total - countCalls(changed) - countCalls(undecided)
  if (json) {
    printJson(io, {
      calls: total,
      unchanged,
      changed: changed.map(toReport),
      undecided: undecided.map(toReport),
      decidedByGroups,
    })
  } else {
    printReplay(io, changed, undecided)
    printLine(
      io,
      `${total} calls: ${unchanged} unchanged, ${countCalls(changed)} changed, ${countCalls(undecided)} undecided`,
    )
    const { recorded, keys: ofKeys, inferred } = decidedByGroups
    if (recorded + ofKeys + inferred > 0)
      printLine(io, `decided by groups: ${recorded} recorded, ${ofKeys} of --keys, ${inferred} inferred`)
  }
  if (failOnChange && changed.length > 0) throw new CommandFailure(`${countCalls(changed)} decisions change`)
}

async function loadGroups(
  keys: string | undefined,
  policies: LoadedPolicies | undefined,
): Promise<FindGroups> {
  const stored = keys === undefined ? [] : await runStep('the keys cannot be listed', () => listKeys(keys))
  return createGroupFinder(new Map(stored.map(({ id, groups }) => [id, groups])), policies)
}

/** Requests with equal results are counted together, so that a long log needs little memory. */
function tallyKey({
  operation,
  principal,
  wasAllowed,
  recordedRule,
  isAllowed,
  decidingRule,
  missing,
}: ReplayedCall): string {
  const rules = [
    recordedRule && formatRuleReference(recordedRule),
    decidingRule && formatReachingRule(decidingRule),
  ]
  return JSON.stringify([operation, principal, wasAllowed, isAllowed, rules, missing])
}

function isChanged({ wasAllowed, isAllowed }: ReplayedCall): boolean {
  return isAllowed !== undefined && isAllowed !== wasAllowed
}

function countCalls(tallies: readonly Tally[]): number {
  return tallies.reduce((sum, { count }) => sum + count, 0)
}

function printReplay(io: Io, changed: readonly Tally[], undecided: readonly Tally[]): void {
  for (const [operation, ofOperation] of groupBy(changed, ({ example }) => example.operation)) {
    printLine(io, operation)
    for (const { example, count } of ofOperation) {
      const { principal, wasAllowed, recordedRule, decidingRule, time, id, request } = example
      printLine(
        io,
        `  ${principal}: ${formatOutcome(wasAllowed)} -> ${formatOutcome(!wasAllowed)}, ${count} ${count === 1 ? 'call' : 'calls'}`,
      )
      printLine(
        io,
        `    before: ${formatOutcome(wasAllowed)} ${recordedRule ? `by ${formatRuleReference(recordedRule)}` : 'as no rule allowed it'}`,
      )
      printLine(
        io,
        `    after:  ${formatOutcome(!wasAllowed)} ${decidingRule ? `by ${formatReachingRule(decidingRule)}` : 'as no rule allows it'}`,
      )
      printLine(io, `    for example ${time} on ${formatIdentifierText(id)}, request ${request}`)
    }
  }
  const reasons = groupBy(undecided, ({ example }) => example.missing.join(' and '))
  for (const [missing, tallies] of reasons) {
    printLine(io, `undecided: ${countCalls(tallies)}, because the log does not contain ${missing}`)
  }
}

function formatOutcome(isAllowed: boolean): string {
  return isAllowed ? 'allowed' : 'denied'
}

function toReport({ example, count }: Tally): unknown {
  const {
    operation,
    principal,
    wasAllowed,
    recordedRule,
    isAllowed,
    decidingRule,
    missing,
    time,
    id,
    request,
  } = example
  return {
    operation,
    principal,
    count,
    before: { allowed: wasAllowed, ...(recordedRule && { rule: recordedRule }) },
    ...(isAllowed === undefined
      ? { missing }
      : { after: { allowed: isAllowed, ...(decidingRule && { rule: createRuleReference(decidingRule) }) } }),
    example: { time, id, request },
  }
}
