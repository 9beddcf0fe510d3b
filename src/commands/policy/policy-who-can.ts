import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption, parseIdArgument } from '../common/arguments.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { listTags } from '../../policy/tags/declared-tags.ts'
import { objectKindOfPermission, objectPosition } from '../../policy/engine/object-position.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import {
  reportEntitlement,
  whoCan,
  whoCanTag,
  type Entitlement,
  type Entitlements,
  type Sight,
  type TaggedEntitlements,
} from '../../policy/analysis/who-can.ts'
import { idArgument, operationArgument, requirePermission } from './policy-options.ts'
import { noteListing, noteMistakenId } from './note-mistakes.ts'
import { addSourceOptions, readPolicyContext, requireSources, type SourceOptions } from './policy-sources.ts'
import {
  formatIf,
  formatNamedSubjects,
  formatReachingRule,
  formatRestrictedBy,
  formatPolicySubject,
  formatPolicySubjects,
  printGrants,
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
  const { tag, json } = options
  if ((tag === undefined) === (id === undefined)) command.error('error: expected either an id or --tag <tag>')
  const context = await readPolicyContext(options, io)
  const operation = requirePermission(name, context.vocabulary, command)
  const { documents, set } = await requireSources(options, io, context)
  noteListing(operation, io)
  if (id !== undefined) {
    noteMistakenId(operation, id, documents, io)
    const entitlements = whoCan(set, operation, objectPosition(objectKindOfPermission(operation), id))
    if (json) printJson(io, toReport(entitlements))
    else printEntitlements(`${operation} on ${formatIdentifierText(id)}`, entitlements, io)
    return
  }
  const { all } = listTags(set.documents.map(({ tags }) => tags))
  if (tag === undefined || !all.has(tag))
    return command.error(
      `error: no policy declares the tag ${JSON.stringify(tag)}${suggestSimilar(tag ?? '', all)}`,
    )
  const found = whoCanTag(set, operation, tag)
  if (json)
    printJson(
      io,
      found.map(({ position, ...entitlements }) => ({ ...position, ...toReport(entitlements) })),
    )
  else for (const one of found) printEntitlements(formatTagged(`${operation} on`, one), one, io)
  if (!json && found.length === 0) printLine(io, `nothing that ${operation} applies to has the tag ${tag}`)
}

function toReport({ columns, allowed, overruled }: Entitlements) {
  return {
    ...(columns.length > 0 && { columns }),
    allowed: allowed.map((entitlement) => ({
      subject: entitlement.subject,
      ...reportEntitlement(entitlement, (subjects) => subjects),
    })),
    overruled: overruled.map(({ subject, allowedBy, deniedBy }) => ({
      subject,
      rule: createRuleReference(allowedBy),
      deniedBy: createRuleReference(deniedBy),
    })),
  }
}

function formatTagged(
  start: string,
  { position: { namespace, table }, columns }: TaggedEntitlements,
): string {
  const id = formatIdentifierText(table === undefined ? namespace : [...namespace, table])
  const which = columns.length === 0 ? '' : ` (${columns.join(', ')})`
  return `${start} ${id}${table === undefined ? ' and beneath' : which}`
}

/** Says apart who sees the tagged columns of a table, the table without them, and nothing, if that differs. */
function printEntitlements(title: string, { columns, allowed, overruled }: Entitlements, io: Io): void {
  printLine(io, `${title}: ${allowed.length === 0 ? 'nobody' : ''}`.trimEnd())
  const isWhole = allowed.every(({ restrictions }) => restrictions.length === 0)
  const names = columns.join(', ')
  const sights: Readonly<Record<Sight, string>> = {
    all: columns.length === 0 ? 'the whole table' : names,
    part: columns.length === 0 ? 'a part of the table' : `the table without ${names}`,
    nothing: 'nothing',
  }
  const denied = overruled.map(
    ({ subject, allowedBy, deniedBy }) =>
      `${formatPolicySubject(subject)}: ${formatReachingRule(allowedBy)} allows it, ${formatReachingRule(deniedBy)} denies it`,
  )
  if (isWhole) {
    printGrants(io, allowed.map(toGrant))
    for (const line of denied) printLine(io, `  not ${line}`)
    return
  }
  for (const sight of ['all', 'part', 'nothing'] as const) {
    const own = allowed.filter(({ sees }) => sees === sight)
    const others = sight === 'nothing' ? denied : []
    if (own.length + others.length > 0) printLine(io, `  sees ${sights[sight]}:`)
    printGrants(io, own.map(toGrant), '    ')
    for (const line of others) printLine(io, `    ${line}`)
  }
}

function toGrant({ subject, reaching, except, overridingDenies, restrictions }: Entitlement) {
  const limits = [
    ...formatIf(reaching.condition),
    ...(except === undefined ? [] : [`except ${formatNamedSubjects(except)}`]),
    ...restrictions.map(({ reaching, subjects, isForSubject }) => {
      if (subjects === undefined) return formatRestrictedBy(reaching)
      const scope = isForSubject
        ? subjects.except && ` unless also ${formatNamedSubjects(subjects.except)}`
        : ` if also ${formatPolicySubjects(subjects)}`
      return formatRestrictedBy(reaching, scope)
    }),
    ...overridingDenies.map(({ reaching, subjects }) => {
      const whom = subjects === undefined ? '' : ` ${formatPolicySubjects(subjects)}`
      const when = formatIf(reaching.condition).map((text) => ` ${text}`)
      return `unless denied:${whom}${when.join('')}  by ${formatReachingRule(reaching)}`
    }),
  ]
  return { what: formatPolicySubject(subject), by: formatReachingRule(reaching), limits }
}
