import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption, parseIdArgument } from '../common/arguments.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { PolicySet } from '../../policy/policy-set.ts'
import { listTags } from '../../policy/tags/declared-tags.ts'
import { objectKindOfPermission, objectPosition } from '../../policy/engine/object-position.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import type { Step } from '../../policy/engine/evaluate.ts'
import type { ReachingRestriction } from '../../policy/analysis/reaching-restrictions.ts'
import { whoCanTag } from '../../policy/analysis/who-can-tag.ts'
import {
  reportEntitlement,
  whoCan,
  type Entitlement,
  type Entitlements,
  type Overriding,
} from '../../policy/analysis/who-can.ts'
import { idArgument, operationArgument, requirePermission } from './policy-options.ts'
import { noteListing, noteMistakenId } from './note-mistakes.ts'
import { readPolicyContext } from './policy-context.ts'
import { addSourceOptions, requireSources, type SourceOptions } from './policy-sources.ts'
import {
  alignColumns,
  formatCondition,
  formatNamedSubjects,
  formatReachingRule,
  formatRestrictedBy,
  formatPolicySubject,
  formatPolicySubjects,
} from './format-policy.ts'

interface Options extends SourceOptions {
  readonly tag?: string
  readonly json?: true
}

export function addWhoCan(policy: Command, io: Io): void {
  addSourceOptions(
    policy
      .command('who-can')
      .description('list the callers that are allowed an operation, with conditions and rules'),
  )
    .option(...jsonOption)
    .option(
      '--tag <tag>',
      'instead of an id: everything that has this tag, and tables with columns that have it',
    )
    .argument(...operationArgument)
    .argument('[id]', idArgument[1], parseIdArgument)
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway policy who-can --policies policies DropTable sales/orders',
        'catalog-gateway policy who-can --policies policies --tag pii QueryTable',
      ),
    )
    .action((name: string, id: Identifier | undefined, options: Options, command: Command) =>
      list(name, id, options, command, io),
    )
}

async function list(
  name: string,
  id: Identifier | undefined,
  options: Options,
  command: Command,
  io: Io,
): Promise<void> {
  const context = await readPolicyContext(options, io)
  const operation = requirePermission(name, context.vocabulary, command)
  const { documents, set } = await requireSources(options, context, io)
  noteListing(operation, io)
  if (options.tag !== undefined && id === undefined) {
    listTagged(set, operation, options.tag, options, command, io)
    return
  }
  if (options.tag !== undefined || id === undefined)
    return command.error('error: expected either an id or --tag <tag>')
  noteMistakenId(operation, id, documents, io)
  const entitlements = whoCan(set, operation, objectPosition(objectKindOfPermission(operation), id))
  if (options.json) {
    printJson(io, toReport(entitlements))
    return
  }
  printEntitlements(`${operation} on ${formatIdentifierText(id)}`, entitlements, io)
}

function toReport({ allowed, overruled }: Entitlements) {
  return {
    allowed: allowed.map(toEntitlementReport),
    overruled: overruled.map(({ subject, allowedBy, deniedBy }) => ({
      subject,
      rule: createRuleReference(allowedBy),
      deniedBy: createRuleReference(deniedBy),
    })),
  }
}

/** Prints the callers that are allowed something on all that has a tag. */
function listTagged(
  set: PolicySet,
  operation: Permission,
  tag: string,
  { json }: Options,
  command: Command,
  io: Io,
): void {
  const { all } = listTags(set.documents.map(({ tags }) => tags))
  if (!all.has(tag))
    command.error(`error: no policy declares the tag ${JSON.stringify(tag)}${suggestSimilar(tag, all)}`)
  const found = whoCanTag(set, operation, tag)
  if (json) {
    printJson(
      io,
      found.map(({ position, columns, hidden, ...entitlements }) => ({
        ...position,
        ...(columns.length > 0 && { columns }),
        ...toReport(entitlements),
        hidden: hidden.map(toEntitlementReport),
      })),
    )
    return
  }
  for (const { position, columns, hidden, ...entitlements } of found) {
    const { namespace, table } = position
    const what =
      table === undefined
        ? `${formatIdentifierText(namespace)} and beneath`
        : formatIdentifierText([...namespace, table])
    const which = columns.length === 0 ? '' : ` (${columns.join(', ')})`
    printEntitlements(`${operation} on ${what}${which}`, entitlements, io)
    for (const { subject, reaching, restrictions } of hidden) {
      const by = restrictions.map((one) => formatReachingRule(one.reaching)).join(' and ')
      printLine(io, `  not ${formatPolicySubject(subject)}: ${formatReachingRule(reaching)} allows it, ${by}`)
    }
  }
  if (found.length === 0) printLine(io, `nothing that ${operation} applies to has the tag ${tag}`)
}

function printEntitlements(title: string, { allowed, overruled }: Entitlements, io: Io): void {
  printLine(io, `${title}: ${allowed.length === 0 ? 'nobody' : ''}`.trimEnd())
  const lines = alignColumns(
    allowed.map(({ subject, reaching }) => [
      `  ${formatPolicySubject(subject)}`,
      `by ${formatReachingRule(reaching)}`,
    ]),
  )
  for (const [index, entitlement] of allowed.entries()) {
    printLine(io, lines[index] ?? '')
    for (const line of formatLimits(entitlement)) printLine(io, `    ${line}`)
  }
  for (const { subject, allowedBy, deniedBy } of overruled) {
    printLine(
      io,
      `  not ${formatPolicySubject(subject)}: ${formatReachingRule(allowedBy)} allows it, ${formatReachingRule(deniedBy)} denies it`,
    )
  }
}

function formatLimits({ reaching, except, overridingDenies, restrictions }: Entitlement): readonly string[] {
  const { condition } = reaching
  return [
    ...(condition === undefined ? [] : [`if ${formatCondition(condition.text)}`]),
    ...(except === undefined ? [] : [`except ${formatNamedSubjects(except)}`]),
    ...restrictions.map(formatRestriction),
    ...overridingDenies.map(formatOverridingDeny),
  ]
}

function formatRestriction({ reaching, subjects }: Overriding<ReachingRestriction>): string {
  return formatRestrictedBy(reaching, subjects && ` for ${formatPolicySubjects(subjects)}`)
}

function formatOverridingDeny({ reaching, subjects }: Overriding<Step>): string {
  const whom = subjects === undefined ? '' : ` ${formatPolicySubjects(subjects)}`
  const condition = reaching.condition === undefined ? '' : ` if ${formatCondition(reaching.condition.text)}`
  return `unless denied:${whom}${condition}  by ${formatReachingRule(reaching)}`
}

function toEntitlementReport(entitlement: Entitlement): unknown {
  return { subject: entitlement.subject, ...reportEntitlement(entitlement, (subjects) => subjects) }
}
