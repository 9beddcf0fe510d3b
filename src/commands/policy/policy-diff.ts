import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { collect, jsonOption } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import { diffPolicies, type DecisionChange, type PolicyDiff } from '../../policy/analysis/diff-policies.ts'
import {
  diffRestrictions,
  type RestrictionChange,
  type RestrictionEffect,
} from '../../policy/analysis/diff-restrictions.ts'
import { summarizeDiff, type ChangeSummary } from '../../policy/analysis/summarize-diff.ts'
import type { RuleDecision } from '../../policy/analysis/find-difference.ts'
import { groupBy } from '../../lib/group-by.ts'
import { describePermissionSet } from '../../policy/language/describe-permissions.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { mergeByPolicy } from '../../policy/language/policy-instance.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import type { ObjectPosition } from '../../policy/engine/object-position.ts'
import type { LoadedPolicies } from '../../policy/source/load-policies.ts'
import type { KnownCaller } from '../../policy/engine/subject.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import { applyCandidates } from './cluster.ts'
import {
  addClusterOptions,
  combineSources,
  printRefused,
  readPolicyContext,
  requirePolicies,
  type SourceOptions,
} from './policy-sources.ts'
import {
  formatConditionResult,
  formatDecided,
  formatReachingRule,
  formatColumns,
  formatPolicySubjects,
  formatRestrictedBy,
  printReport,
} from './format-policy.ts'
import {
  createRestrictionReport,
  type ReachingRestriction,
} from '../../policy/analysis/reaching-restrictions.ts'

interface Options extends SourceOptions {
  readonly apply?: true
  readonly failOnChange?: true
  readonly json?: true
}

export function addDiff(policy: Command, io: Io): void {
  addClusterOptions(
    policy
      .command('diff')
      .description('list the decisions that differ between the current policies and candidates')
      .usage('[options] <before> <after>\n       catalog-gateway policy diff [options] --kubernetes <after>')
      .argument(
        '<folders...>',
        'the current and the candidate policies; with --kubernetes the candidates only',
      ),
  )
    .option(
      '--apply',
      'with --kubernetes: the candidates are applied to the resources, as kubectl apply does',
    )
    .option('--policies <dir>', 'a folder of policies in force beside both sides; repeatable', collect, [])
    .option('--fail-on-change', 'exit with status 1 if a decision or a restriction changes')
    .option(...jsonOption)
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway policy diff policies candidate',
        'catalog-gateway policy diff --kubernetes candidate',
      ),
    )
    .action((folders: readonly string[], options: Options, command: Command) =>
      diff(folders, options, command, io),
    )
}

async function diff(folders: readonly string[], options: Options, command: Command, io: Io): Promise<void> {
  const [one, other] = await loadSides(folders, options, command, io)
  const found = await runStep('the policies cannot be compared', async () => diffPolicies(one.set, other.set))
  const restrictions = diffRestrictions(one.set, other.set)
  const count = found.changes.length + restrictions.length
  const report = [...found.changes.map(toChangeReport), ...restrictions.map(createRestrictionChangeReport)]
  const documents = [...one.documents, ...other.documents]
  const changes = restrictions.map((change) => ({
    message: formatRestrictionChange(change).join('\n'),
    policy: (change.after ?? change.before)?.document.name ?? '',
  }))
  const ofRestrictions = mergeByPolicy(changes, documents, () => '').map(({ message }) => message)
  const lines = [...formatDiff(found, documents), ...ofRestrictions]
  printReport(io, options.json, report, count === 0 ? ['no decision changes'] : lines)
  if (options.failOnChange && count > 0)
    throw new CommandFailure(
      `${found.changes.length} decisions${restrictions.length > 0 ? ` and ${restrictions.length} restrictions` : ''} change`,
    )
}

type Sides = readonly [before: LoadedPolicies, after: LoadedPolicies]

async function loadSides(
  folders: readonly string[],
  options: Options,
  command: Command,
  io: Io,
): Promise<Sides> {
  const { policies, apply, kubernetes } = options
  const [first = '', second, ...others] = folders
  if (kubernetes && second !== undefined)
    command.error('error: expected one folder with --kubernetes: the candidates')
  if (apply && !kubernetes) command.error('error: expected --kubernetes with --apply')
  if (!kubernetes && (second === undefined || others.length > 0))
    command.error(
      'error: expected two folders, the current and the candidate policies; or --kubernetes and one',
    )
  const context = await readPolicyContext(options, io)
  const { vocabulary, cluster } = context
  if (cluster === undefined)
    return [
      await requirePolicies([...policies, first], vocabulary),
      await requirePolicies([...policies, second ?? ''], vocabulary),
    ]
  const before = await combineSources(policies, context)
  if (!apply) return [printRefused(before, io), await requirePolicies([...policies, first], vocabulary)]
  const resources = await runStep(`the policies in ${first} cannot be applied`, () =>
    applyCandidates(cluster.resources, first, vocabulary),
  )
  const after = await combineSources(policies, { ...context, cluster: { ...cluster, resources } })
  return [before, printRefused(after, io)]
}

function formatDiff(found: PolicyDiff, documents: readonly PolicyDocument[]): readonly string[] {
  const changes = summarizeDiff(found).map((summary) => ({
    message: formatChange(summary),
    policy: findPolicy(summary.example),
  }))
  const merged = mergeByPolicy(changes, documents, () => '').map(({ message }) => message.split('\n'))
  return [...groupBy(merged, ([first = '']) => first)].flatMap(([caller, ofCaller]) => [
    caller,
    ...ofCaller.flatMap((lines) => lines.slice(1)),
  ])
}

/** The name of the policy with `forEach` that decides now or, if that has none, of the one that decided. */
function findPolicy({ before, after }: DecisionChange): string {
  const deciding = [after, before].flatMap(({ decidingRule }) => decidingRule?.document ?? [])
  return deciding.find(({ instance }) => instance !== undefined)?.name ?? ''
}

/** In several lines, the first of which names the caller. */
function formatChange({ example, permissions, coversSubtree }: ChangeSummary): string {
  const { known, direction, position, before, after } = example
  return [
    formatCaller(known.caller),
    `  ${direction}  ${formatPosition(position, coversSubtree)}: ${describePermissionSet(permissions)}`,
    ...[...known.conditions].map(([text, result]) => `    if ${formatConditionResult(text, result)}`),
    `    before: ${formatDecision(before)}`,
    `    after:  ${formatDecision(after)}`,
  ].join('\n')
}

function formatPosition({ namespace, table }: ObjectPosition, isWhole: boolean): string {
  if (table !== undefined) return `tables in ${formatIdentifierText(namespace)} such as ${table}`
  return `${formatIdentifierText(namespace)} and ${isWhole ? 'everything' : 'anything no policy names'} beneath`
}

function formatDecision({ allowed, decidingRule }: RuleDecision): string {
  return formatDecided(allowed, decidingRule && formatReachingRule(decidingRule))
}

function formatCaller({ user, key, groups, excludedGroups }: KnownCaller): string {
  const names = [...(user ? [`user ${user}`] : []), ...(key ? [`key ${key}`] : [])]
  if (excludedGroups === 'all')
    return (
      [...names, ...[...groups].map((group) => `group ${group}`)].join(' and ') ||
      'callers that no policy names'
    )
  const memberships = [
    ...[...groups].map((group) => `in group ${group}`),
    ...[...excludedGroups].map((group) => `not in group ${group}`),
  ]
  return `callers that are ${[...names, ...memberships].join(' and ') || 'not named'}`
}

function toChangeReport({ position, permission, direction, known, before, after }: DecisionChange): unknown {
  const { user, key, groups, excludedGroups } = known.caller
  const [one, other] = [before, after].map(({ allowed, decidingRule }) => ({
    allowed,
    rule: decidingRule && createRuleReference(decidingRule),
  }))
  return {
    direction,
    operation: permission,
    ...position,
    caller: {
      ...(user && { user }),
      ...(key && { key }),
      groups: [...groups],
      notInGroups: excludedGroups === 'all' ? 'all others' : [...excludedGroups],
    },
    conditions: Object.fromEntries(known.conditions),
    before: one,
    after: other,
  }
}

/** Returns lines: what the callers gain and lose, and the restriction before and after. */
function formatRestrictionChange({ name, before, after, effects }: RestrictionChange): readonly string[] {
  return [
    `restriction ${name}`,
    ...effects.map(({ direction, part, columns }) => `  ${direction}  ${formatPart(part, columns)}`),
    `    before: ${formatSide(before)}`,
    `    after:  ${formatSide(after)}`,
  ]
}

function formatPart(part: RestrictionEffect['part'], columns: RestrictionEffect['columns']): string {
  if (columns !== undefined) return `columns ${formatColumns(columns)}`
  return part === 'columns' ? 'all other columns' : part
}

function formatSide(restriction: ReachingRestriction | undefined): string {
  if (restriction === undefined) return 'no restriction'
  const { document, rule } = restriction
  const tables = `the tables ${(rule.tables ?? []).join(', ')} in ${formatIdentifierText(document.namespace)}`
  return formatRestrictedBy(restriction, ` for ${formatPolicySubjects(rule.subjects)} on ${tables}`)
}

/** The same for JSON. */
function createRestrictionChangeReport({ name, before, after, effects }: RestrictionChange): unknown {
  return {
    restriction: name,
    effects: effects.map(({ columns, ...effect }) => ({
      ...effect,
      columns: columns && Object.fromEntries(columns),
    })),
    before: before && reportSide(before),
    after: after && reportSide(after),
  }
}

function reportSide(reaching: ReachingRestriction): unknown {
  return {
    ...createRestrictionReport(reaching),
    namespace: reaching.document.namespace,
    tables: reaching.rule.tables,
    subjects: reaching.rule.subjects,
  }
}
