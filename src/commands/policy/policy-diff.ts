import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { groupBy } from '../../lib/group-by.ts'
import {
  diffPolicies,
  summarizeDiff,
  type ChangeSummary,
  type Answer,
  type PolicyDiff,
  type ReportedCaller,
} from '../../policy/analysis/diff-policies.ts'
import type { ReportedPart } from '../../policy/analysis/steps.ts'
import { anonymousSubject } from '../../policy/engine/subject.ts'
import { describePermissionSet } from '../../policy/language/policy-vocabulary.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { mergeByPolicy } from '../../policy/language/for-each.ts'
import type { LoadedPolicies } from '../../policy/source/load-policies.ts'
import { collect, jsonOption } from '../common/arguments.ts'
import { runStep, CommandFailure } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import {
  addClusterOptions,
  applyCandidates,
  combineSources,
  printRefused,
  readPolicyContext,
  requirePolicies,
  type SourceOptions,
} from './policy-sources.ts'
import {
  formatColumns,
  formatConditionResult,
  formatDecided,
  formatPolicySubject,
  formatRule,
  printReport,
} from './format-policy.ts'

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
  const { changes } = found
  const lines = formatDiff(found, [...one.documents, ...other.documents])
  printReport(io, options.json, changes, changes.length === 0 ? ['no decision changes'] : lines)
  if (options.failOnChange && changes.length > 0)
    throw new CommandFailure(`${changes.length} decisions change`)
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
  const instances = new Set(documents.flatMap(({ name, instance }) => (instance === undefined ? [] : [name])))
  const changes = summarizeDiff(found).map((summary) => {
    const { before, after } = summary
    // The policy with `forEach` that decides now or, if that has none, the one that decided.
    const policy =
      [after, before].map(({ rule }) => rule?.policy ?? '').find((name) => instances.has(name)) ?? ''
    return { message: formatChange(summary), policy }
  })
  const merged = mergeByPolicy(changes, documents, () => '').map(({ message }) => message.split('\n'))
  return [...groupBy(merged, ([first = '']) => first)].flatMap(([caller, ofCaller]) => [
    caller,
    ...ofCaller.flatMap((lines) => lines.slice(1)),
  ])
}

/** In several lines, the first of which names the caller. */
function formatChange(change: ChangeSummary): string {
  const { caller, direction, operations, conditions, before, after } = change
  return [
    formatCaller(caller),
    `  ${direction}  ${formatPosition(change)}: ${describePermissionSet(operations)}`,
    ...Object.entries(conditions).map(([text, result]) => `    if ${formatConditionResult(text, result)}`),
    ...formatColumnChanges(before.restriction?.columns, after.restriction?.columns),
    `    before: ${formatAnswer(before)}`,
    `    after:  ${formatAnswer(after)}`,
  ].join('\n')
}

function formatPosition({ namespace, table, coversSubtree }: ChangeSummary): string {
  if (table !== undefined) return `tables in ${formatIdentifierText(namespace)} such as ${table}`
  return `${formatIdentifierText(namespace)} and ${coversSubtree ? 'everything' : 'anything no policy names'} beneath`
}

type Columns = ReportedPart['columns']

/** The columns that callers gain or lose, if they read a part of the table on both sides. */
function formatColumnChanges(before: Columns | undefined, after: Columns | undefined): readonly string[] {
  if (before === undefined || after === undefined) return []
  const format = (direction: string, columns: Columns, others: Columns): readonly string[] => {
    const missing = Object.entries(columns).filter(([path, type]) => others[path] !== type)
    return missing.length === 0
      ? []
      : [`    ${direction}  columns ${formatColumns(Object.fromEntries(missing))}`]
  }
  return [...format('gains', after, before), ...format('loses', before, after)]
}

function formatAnswer(answer: Answer): string {
  const { restriction } = answer
  if (restriction === undefined) return formatDecided(answer)
  const { columns, rows, rules } = restriction
  const by = rules.map(formatRule).join(' and ')
  return `${formatDecided(answer)}, restricted by ${by}: columns ${formatColumns(columns)}; rows ${rows.join(' AND ') || 'all'}`
}

function formatCaller({ anonymous, user, key, groups, notInGroups }: ReportedCaller): string {
  if (anonymous) return formatPolicySubject(anonymousSubject)
  const names = [
    ...(user === undefined ? [] : [`user ${user}`]),
    ...(key === undefined ? [] : [`key ${key}`]),
  ]
  if (notInGroups === 'all others')
    return (
      [...names, ...groups.map((group) => `group ${group}`)].join(' and ') || 'callers that no policy names'
    )
  const memberships = [
    ...groups.map((group) => `in group ${group}`),
    ...notInGroups.map((group) => `not in group ${group}`),
  ]
  return `callers that are ${[...names, ...memberships].join(' and ') || 'not named'}`
}
