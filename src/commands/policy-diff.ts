import type { Command } from 'commander'
import { diffPolicies, type DecisionChange, type PolicyDiff } from '../policy/diff.ts'
import { summarizeDiff } from '../policy/diff-summary.ts'
import type { Answer } from '../policy/decision-logic.ts'
import { grouped } from '../policy/grouped.ts'
import { namesOfPermissions } from '../policy/permission-names.ts'
import { referenceTo, type Position } from '../policy/rule-reach.ts'
import type { KnownCaller } from '../policy/subject-logic.ts'
import { attempt, CommandFailure } from './failure.ts'
import { jsonOption, policiesIn } from './policy-arguments.ts'
import { print, printJson, showCondition, showId, showReaching } from './policy-text.ts'

/** `policy diff`: which decisions change from one folder of policies to another. */
export function addDiff(policy: Command): void {
  policy
    .command('diff')
    .description('list the decisions that differ between two folders of policies')
    .argument('<before>', 'the current policies')
    .argument('<after>', 'the candidate policies')
    .option('--fail-on-change', 'exit with status 1 if a decision changes')
    .option(...jsonOption)
    .addHelpText('after', '\nExample:\n  catalog-gateway policy diff policies candidate')
    .action(diff)
}

async function diff(
  before: string,
  after: string,
  options: { failOnChange?: true; json?: true },
): Promise<void> {
  const [one, other] = [await policiesIn(before), await policiesIn(after)]
  const found = await attempt('the policies cannot be compared', async () =>
    diffPolicies(one.documents, other.documents),
  )
  if (options.json) printJson(found.changes.map(changeReport))
  else show(found)
  if (options.failOnChange && found.changes.length > 0)
    throw new CommandFailure(`${found.changes.length} decisions change`)
}

function show(found: PolicyDiff): void {
  const summaries = summarizeDiff(found)
  if (summaries.length === 0) print('no decision changes')
  for (const [caller, ofCaller] of grouped(summaries, ({ example }) => showCaller(example.known.caller))) {
    print(caller)
    for (const { example, permissions, isWhole } of ofCaller) {
      print(
        `  ${example.direction}  ${showPosition(example.position, isWhole)}: ${namesOfPermissions(permissions)}`,
      )
      for (const [text, truth] of example.known.conditions) print(`    if ${truth} is ${showCondition(text)}`)
      print(`    before: ${showAnswer(example.before)}`)
      print(`    after:  ${showAnswer(example.after)}`)
    }
  }
}

function showPosition({ namespace, table }: Position, isWhole: boolean): string {
  if (table !== undefined) return `tables in ${showId(namespace)} such as ${table}`
  return `${showId(namespace)} and ${isWhole ? 'everything' : 'anything no policy names'} beneath`
}

function showAnswer({ allowed, by }: Answer): string {
  const word = allowed ? 'allowed' : 'denied'
  return by === undefined ? `${word}, as no rule allows it` : `${word} by ${showReaching(by)}`
}

function showCaller({ user, key, groups, others }: KnownCaller): string {
  const parts = [
    ...(user === undefined || user === '' ? [] : [`user ${user}`]),
    ...(key === undefined || key === '' ? [] : [`key ${key}`]),
    ...[...groups].map((group) => `group ${group}`),
  ]
  if (others === 'all') return parts.length === 0 ? 'callers that no policy names' : parts.join(' and ')
  const without = others.size === 0 ? '' : ` not in ${[...others].join(', ')}`
  return `callers that are ${parts.join(' and in ') || 'not named'}${without}`
}

function changeReport({ position, permission, direction, known, before, after }: DecisionChange): unknown {
  const { user, key, groups, others } = known.caller
  return {
    direction,
    operation: permission,
    namespace: position.namespace,
    ...(position.table !== undefined && { table: position.table }),
    caller: {
      ...(user && { user }),
      ...(key && { key }),
      groups: [...groups],
      notInGroups: others === 'all' ? 'all others' : [...others],
    },
    conditions: Object.fromEntries(known.conditions),
    before: answerReport(before),
    after: answerReport(after),
  }
}

function answerReport({ allowed, by }: Answer): unknown {
  return { allowed, ...(by && { rule: referenceTo(by) }) }
}
