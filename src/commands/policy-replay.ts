import { InvalidArgumentError, type Command } from 'commander'
import { readAuditLogs } from '../audit/read.ts'
import { listKeys } from '../identity/api-key-store.ts'
import type { PolicyFolder } from '../policy/folder.ts'
import { grouped } from '../policy/grouped.ts'
import { groupsShownBy } from '../policy/inferred-groups.ts'
import { replayRecord, type GroupsOf, type ReplayedCall } from '../policy/replay.ts'
import { indexDocuments, referenceTo } from '../policy/rule-reach.ts'
import { attempt, CommandFailure } from './failure.ts'
import { jsonOption, policiesIn } from './policy-arguments.ts'
import { print, printJson, showId, showReaching, showRule } from './policy-text.ts'

interface Options {
  readonly audit: string
  readonly candidate: string
  readonly current?: string
  readonly keys?: string
  readonly since?: Date
  readonly failOnChange?: true
  readonly json?: true
}

/** Calls of the log that come to the same. */
interface Tally {
  readonly example: ReplayedCall
  readonly count: number
}

/** `policy replay`: what other policies would have decided. */
export function addReplay(policy: Command): void {
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
    .option('--keys <file>', 'the API key store, or a folder of key stores, used to look up groups')
    .option('--since <time>', 'only requests since this time, such as 2026-01-31T00:00:00Z', time)
    .option('--fail-on-change', 'exit with status 1 if a decision changes')
    .option(...jsonOption)
    .addHelpText(
      'after',
      '\nExample:\n  catalog-gateway policy replay --audit .catalog-gateway/audit --candidate candidate --current policies\n\n' +
        'The log contains no groups, claims or context headers, no facts of reads and denials, and no reads\n' +
        'unless they are recorded.\n' +
        'Requests that depend on missing data are counted as undecided.',
    )
    .action(replay)
}

async function replay({
  audit,
  candidate,
  current,
  keys,
  since,
  failOnChange,
  json,
}: Options): Promise<void> {
  const { documents } = await policiesIn(candidate)
  const index = indexDocuments(documents)
  const policies = current === undefined ? undefined : await policiesIn(current)
  const groupsOf = await groupsFrom(keys, policies)
  const currentIndex = policies && indexDocuments(policies.documents)
  const tallies = new Map<string, Tally>()
  await attempt('the audit log cannot be read', async () => {
    for await (const record of readAuditLogs(audit)) {
      if (since !== undefined && Date.parse(record.time) < since.getTime()) continue
      const isCurrent = record.kind === 'intent' && record.policyRevision === policies?.set.revision
      const call = replayRecord(record, index, groupsOf, isCurrent ? currentIndex : undefined)
      if (call === undefined) continue
      const key = keyOf(call)
      const before = tallies.get(key)
      tallies.set(key, { example: before?.example ?? call, count: (before?.count ?? 0) + 1 })
    }
  })
  const all = [...tallies.values()]
  const total = countOf(all)
  if (total === 0)
    throw new CommandFailure(`${audit} contains no requests; is it the folder of an audit log?`)
  const changed = all.filter(({ example }) => isChanged(example))
  const undecided = all.filter(({ example }) => example.isAllowed === undefined)
  const unchanged = total - countOf(changed) - countOf(undecided)
  if (json) {
    printJson({ calls: total, unchanged, changed: changed.map(report), undecided: undecided.map(report) })
  } else {
    show(changed, undecided)
    print(
      `${total} calls: ${unchanged} unchanged, ${countOf(changed)} changed, ${countOf(undecided)} undecided`,
    )
  }
  if (failOnChange && changed.length > 0) throw new CommandFailure(`${countOf(changed)} decisions change`)
}

/** What is known of groups from beside the log. */
async function groupsFrom(keys: string | undefined, policies: PolicyFolder | undefined): Promise<GroupsOf> {
  const stored = keys === undefined ? [] : await attempt('the keys cannot be listed', () => listKeys(keys))
  const groupsOfKeys = new Map(stored.map(({ id, groups }) => [id, new Set(groups)]))
  return ({ principal, rule, policyRevision }) => {
    const ofKey = principal.method === 'api-key' ? groupsOfKeys.get(principal.credentialId) : undefined
    if (ofKey !== undefined) return { groups: ofKey, isComplete: true }
    const isCurrent = policies !== undefined && policyRevision === policies.set.revision && rule !== undefined
    const groups = isCurrent ? groupsShownBy({ principal, rule }, policies.documents) : []
    return { groups: new Set(groups), isComplete: false }
  }
}

/** Calls that come to the same in the same way are counted, so that a long log takes little memory. */
function keyOf({
  operation,
  principal,
  wasAllowed,
  before,
  isAllowed,
  after,
  missing,
}: ReplayedCall): string {
  const rules = [before && showRule(before), after && showReaching(after)]
  return JSON.stringify([operation, principal, wasAllowed, isAllowed, rules, missing])
}

function isChanged({ wasAllowed, isAllowed }: ReplayedCall): boolean {
  return isAllowed !== undefined && isAllowed !== wasAllowed
}

function countOf(tallies: readonly Tally[]): number {
  return tallies.reduce((sum, { count }) => sum + count, 0)
}

function show(changed: readonly Tally[], undecided: readonly Tally[]): void {
  for (const [operation, ofOperation] of grouped(changed, ({ example }) => example.operation)) {
    print(operation)
    for (const { example, count } of ofOperation) {
      const { principal, wasAllowed, before, after, time, id, request } = example
      print(
        `  ${principal}: ${word(wasAllowed)} -> ${word(!wasAllowed)}, ${count} ${count === 1 ? 'call' : 'calls'}`,
      )
      print(`    before: ${word(wasAllowed)} ${before ? `by ${showRule(before)}` : 'as no rule allowed it'}`)
      print(
        `    after:  ${word(!wasAllowed)} ${after ? `by ${showReaching(after)}` : 'as no rule allows it'}`,
      )
      print(`    for example ${time} on ${showId(id)}, request ${request}`)
    }
  }
  const reasons = grouped(undecided, ({ example }) => example.missing.join(' and '))
  for (const [missing, tallies] of reasons) {
    print(`undecided: ${countOf(tallies)}, because the log does not contain ${missing}`)
  }
}

function word(isAllowed: boolean): string {
  return isAllowed ? 'allowed' : 'denied'
}

function report({ example, count }: Tally): unknown {
  const { operation, principal, wasAllowed, before, isAllowed, after, missing, time, id, request } = example
  return {
    operation,
    principal,
    count,
    before: { allowed: wasAllowed, ...(before && { rule: before }) },
    ...(isAllowed === undefined
      ? { missing }
      : { after: { allowed: isAllowed, ...(after && { rule: referenceTo(after) }) } }),
    example: { time, id, request },
  }
}

function time(text: string): Date {
  const date = new Date(text)
  if (!Number.isNaN(date.getTime())) return date
  throw new InvalidArgumentError('expected a time such as 2026-01-31T00:00:00Z')
}
