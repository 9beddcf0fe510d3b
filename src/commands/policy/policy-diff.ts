import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/index.ts'
import { groupBy } from '../../lib/index.ts'
import {
  anonymousSubject,
  type Answer,
  type ChangeSummary,
  describePermissionSet,
  diffPolicies,
  type LoadedPolicies,
  mergeByPolicy,
  type PolicyDiff,
  type PolicyDocument,
  type ReportedCaller,
  summarizeDiff,
  formatAnswer,
  formatColumns,
  formatConditionResult,
  formatPolicySubject,
} from '../../policy/index.ts'
import { collect } from '../common/arguments.ts'
import { runStep } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { addReport, type Report } from './policy-report.ts'
import {
  addClusterOptions,
  applyCandidates,
  loadSources,
  printRefused,
  readPolicyContext,
  type SourceOptions,
} from './policy-sources.ts'

interface Options extends SourceOptions {
  readonly apply?: true
  readonly failOnChange?: true
}

export function addDiff(policy: Command, io: Io): void {
  const command = policy
    .command('diff')
    .description('list the decisions that differ between the current policies and candidates')
    .usage('[options] <before> <after>\n       catalog-gateway policy diff [options] --kubernetes <after>')
    .argument('<folders...>', 'the current and the candidate policies; with --kubernetes the candidates only')
  addClusterOptions(command)
    .option(
      '--apply',
      'with --kubernetes: the candidates are applied to the resources, as kubectl apply does',
    )
    .option('--policies <dir>', 'a folder of policies in force beside both sides; repeatable', collect, [])
    .option('--fail-on-change', 'exit with status 1 if a decision or a restriction changes')
  const examples = ['diff policies candidate', 'diff --kubernetes candidate']
  addReport(command, io, examples, async (folders: readonly string[], options: Options): Promise<Report> => {
    const [one, other] = await loadSides(folders, options, command, io)
    const found = await runStep('the policies cannot be compared', async () =>
      diffPolicies(one.set, other.set),
    )
    const { changes } = found
    if (changes.length === 0) return { content: changes, lines: ['no decision changes'] }
    const lines = formatDiff(found, [...one.set.documents, ...other.set.documents])
    const failure = options.failOnChange ? `${changes.length} decisions change` : undefined
    return { content: changes, lines, failure }
  })
}

async function loadSides(
  folders: readonly string[],
  options: Options,
  command: Command,
  io: Io,
): Promise<readonly [before: LoadedPolicies, after: LoadedPolicies]> {
  const { policies, apply, kubernetes } = options
  const [first = '', second = ''] = folders
  if (kubernetes && folders.length > 1)
    command.error('error: expected one folder with --kubernetes: the candidates')
  if (apply && !kubernetes) command.error('error: expected --kubernetes with --apply')
  if (!kubernetes && folders.length !== 2)
    command.error(
      'error: expected two folders, the current and the candidate policies; or --kubernetes and one',
    )
  const context = await readPolicyContext(options, io)
  const { vocabulary, cluster } = context
  const load = (folder: string) => loadSources({ ...context, cluster: undefined }, [...policies, folder])
  if (cluster === undefined) return [await load(first), await load(second)]
  const before = await loadSources(context)
  if (!apply) return [printRefused(before, io), await load(first)]
  const resources = await runStep(`the policies in ${first} cannot be applied`, () =>
    applyCandidates(cluster.resources, first, vocabulary),
  )
  const after = await loadSources({ ...context, cluster: { ...cluster, resources } })
  return [before, printRefused(after, io)]
}

/** The lines of each change beneath its caller, with changes of several documents of a policy with `forEach` in one. */
function formatDiff(found: PolicyDiff, documents: readonly PolicyDocument[]): readonly string[] {
  const instances = new Set(documents.filter(({ instance }) => instance).map(({ name }) => name))
  const changes = summarizeDiff(found).map((summary) => {
    // The policy with `forEach` that decides now or, if that has none, the one that decided.
    const deciding = [summary.after, summary.before].map(({ rule }) => rule?.policy ?? '')
    return { message: formatChange(summary), policy: deciding.find((name) => instances.has(name)) ?? '' }
  })
  return formatGroups(mergeByPolicy(changes, documents, () => '').map(({ message }) => message.split('\n')))
}

/** Prints what has the same first line beneath that. */
export function formatGroups(parts: readonly (readonly string[])[]): readonly string[] {
  const groups = groupBy(parts, ([title = '']) => title)
  return [...groups].flatMap(([title, all]) => [title, ...all.flatMap((lines) => lines.slice(1))])
}

/** In several lines, the first of which names the caller. */
function formatChange(change: ChangeSummary): string {
  const { caller, direction, operations, conditions, before, after } = change
  return [
    formatCaller(caller),
    `  ${direction}  ${formatPosition(change)}: ${describePermissionSet(operations)}`,
    ...Object.entries(conditions).map(([text, result]) => `    if ${formatConditionResult(text, result)}`),
    ...formatOtherColumns('gains', after, before),
    ...formatOtherColumns('loses', before, after),
    `    before: ${formatAnswer(before)}`,
    `    after:  ${formatAnswer(after)}`,
  ].join('\n')
}

function formatPosition({ namespace, table, coversSubtree }: ChangeSummary): string {
  if (table !== undefined) return `tables in ${formatIdentifierText(namespace)} such as ${table}`
  return `${formatIdentifierText(namespace)} and ${coversSubtree ? 'everything' : 'anything no policy names'} beneath`
}

/** The columns that only one of two restricted answers has. */
function formatOtherColumns(direction: string, one: Answer, other: Answer): readonly string[] {
  if (one.restriction === undefined || other.restriction === undefined) return []
  const { columns } = other.restriction
  const own = Object.entries(one.restriction.columns).filter(([path, type]) => columns[path] !== type)
  return own.length === 0 ? [] : [`    ${direction}  columns ${formatColumns(Object.fromEntries(own))}`]
}

function formatCaller({ anonymous, user, key, groups, notInGroups }: ReportedCaller): string {
  if (anonymous) return formatPolicySubject(anonymousSubject)
  const others = notInGroups === 'all others' ? undefined : notInGroups
  const known = [
    ...(user === undefined ? [] : [`user ${user}`]),
    ...(key === undefined ? [] : [`key ${key}`]),
    ...groups.map((group) => `${others ? 'in ' : ''}group ${group}`),
    ...(others ?? []).map((group) => `not in group ${group}`),
  ].join(' and ')
  return others ? `callers that are ${known || 'not named'}` : known || 'callers that no policy names'
}
