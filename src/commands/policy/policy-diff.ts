import type { Command } from 'commander'
import { diffPolicies, type DecisionChange, type PolicyDiff } from '../../policy/analysis/diff-policies.ts'
import { summarizeDiff } from '../../policy/analysis/summarize-diff.ts'
import type { RuleDecision } from '../../policy/analysis/find-difference.ts'
import { groupBy } from '../../lib/group-by.ts'
import { describePermissionSet } from '../../policy/language/describe-permissions.ts'
import { createRuleReference, type ObjectPosition } from '../../policy/analysis/reaching-rules.ts'
import type { KnownCaller } from '../../policy/analysis/subject.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { configOption, jsonOption, readVocabulary, requirePolicies } from './policy-options.ts'
import { printLine, printJson, formatCondition, formatId, formatReachingRule } from './format-policy.ts'

export function addDiff(policy: Command): void {
  policy
    .command('diff')
    .description('list the decisions that differ between two folders of policies')
    .argument('<before>', 'the current policies')
    .argument('<after>', 'the candidate policies')
    .option(...configOption)
    .option('--fail-on-change', 'exit with status 1 if a decision changes')
    .option(...jsonOption)
    .addHelpText('after', '\nExample:\n  catalog-gateway policy diff policies candidate')
    .action(diff)
}

async function diff(
  before: string,
  after: string,
  options: { config?: string; failOnChange?: true; json?: true },
): Promise<void> {
  const vocabulary = await readVocabulary(options.config)
  const [one, other] = [await requirePolicies(before, vocabulary), await requirePolicies(after, vocabulary)]
  const found = await runStep('the policies cannot be compared', async () =>
    diffPolicies(one.documents, other.documents),
  )
  if (options.json) printJson(found.changes.map(toChangeReport))
  else printDiff(found)
  if (options.failOnChange && found.changes.length > 0)
    throw new CommandFailure(`${found.changes.length} decisions change`)
}

function printDiff(found: PolicyDiff): void {
  const summaries = summarizeDiff(found)
  if (summaries.length === 0) printLine('no decision changes')
  for (const [caller, ofCaller] of groupBy(summaries, ({ example }) => formatCaller(example.known.caller))) {
    printLine(caller)
    for (const { example, permissions, coversSubtree } of ofCaller) {
      printLine(
        `  ${example.direction}  ${formatPosition(example.position, coversSubtree)}: ${describePermissionSet(permissions)}`,
      )
      for (const [text, result] of example.known.conditions)
        printLine(`    if ${result} is ${formatCondition(text)}`)
      printLine(`    before: ${formatDecision(example.before)}`)
      printLine(`    after:  ${formatDecision(example.after)}`)
    }
  }
}

function formatPosition({ namespace, table }: ObjectPosition, isWhole: boolean): string {
  if (table !== undefined) return `tables in ${formatId(namespace)} such as ${table}`
  return `${formatId(namespace)} and ${isWhole ? 'everything' : 'anything no policy names'} beneath`
}

function formatDecision({ allowed, decidingRule }: RuleDecision): string {
  const word = allowed ? 'allowed' : 'denied'
  return decidingRule === undefined
    ? `${word}, as no rule allows it`
    : `${word} by ${formatReachingRule(decidingRule)}`
}

function formatCaller({ user, key, groups, excludedGroups }: KnownCaller): string {
  const parts = [
    ...(user === undefined || user === '' ? [] : [`user ${user}`]),
    ...(key === undefined || key === '' ? [] : [`key ${key}`]),
    ...[...groups].map((group) => `group ${group}`),
  ]
  if (excludedGroups === 'all')
    return parts.length === 0 ? 'callers that no policy names' : parts.join(' and ')
  const without = excludedGroups.size === 0 ? '' : ` not in ${[...excludedGroups].join(', ')}`
  return `callers that are ${parts.join(' and in ') || 'not named'}${without}`
}

function toChangeReport({ position, permission, direction, known, before, after }: DecisionChange): unknown {
  const { user, key, groups, excludedGroups } = known.caller
  return {
    direction,
    operation: permission,
    namespace: position.namespace,
    ...(position.table !== undefined && { table: position.table }),
    caller: {
      ...(user && { user }),
      ...(key && { key }),
      groups: [...groups],
      notInGroups: excludedGroups === 'all' ? 'all others' : [...excludedGroups],
    },
    conditions: Object.fromEntries(known.conditions),
    before: decisionReport(before),
    after: decisionReport(after),
  }
}

function decisionReport({ allowed, decidingRule }: RuleDecision): unknown {
  return { allowed, ...(decidingRule && { rule: createRuleReference(decidingRule) }) }
}
