import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/index.ts'
import { groupBy } from '../../lib/index.ts'
import {
  anonymousSubject,
  type Answer,
  type ChangeSummary,
  describePermissionSet,
  diffPolicies,
  mergeByPolicy,
  type PolicyChange,
  type ObjectPosition,
  type PolicyDocument,
  type ReportedCaller,
  summarizeDiff,
  formatAnswer,
  formatColumns,
  formatConditionResult,
  formatPolicySubject,
} from '../../policy/index.ts'
import { runStep } from '../common/command-failure.ts'
import type { Io } from '../common/io.ts'
import { addReport, configOption, loadSources, type Report } from './policy-command.ts'

interface Options {
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

  async function diff(before: string, after: string, { config, failOnChange }: Options): Promise<Report> {
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

/** The lines of each change beneath its caller, with changes of several documents of a policy with `forEach` in one. */
function formatDiff(found: readonly PolicyChange[], documents: readonly PolicyDocument[]): readonly string[] {
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
  const { caller, direction, positions, operations, conditions, before, after } = change
  return [
    formatCaller(caller),
    `  ${direction}  ${formatPositions(positions)}: ${describePermissionSet(operations)}`,
    ...Object.entries(conditions).map(([text, result]) => `    if ${formatConditionResult(text, result)}`),
    ...formatOtherColumns('gains', after, before),
    ...formatOtherColumns('loses', before, after),
    `    before: ${formatAnswer(before)}`,
    `    after:  ${formatAnswer(after)}`,
  ].join('\n')
}

const maxPositions = 10

function formatPositions(positions: readonly ObjectPosition[]): string {
  const texts = positions.map(({ namespace, table }) => {
    const text = formatIdentifierText(namespace)
    return table === undefined
      ? `${text} and what no policy names beneath`
      : `tables in ${text} such as ${table}`
  })
  const hidden = texts.length - maxPositions
  return [...texts.slice(0, maxPositions), ...(hidden > 0 ? [`${hidden} more`] : [])].join('; ')
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
