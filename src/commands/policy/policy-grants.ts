import type { Command } from 'commander'
import { formatIdentifierText, type Identifier } from '../../catalog-api/index.ts'
import { suggestSimilar } from '../../lib/index.ts'
import {
  type Entitlements,
  formatRule,
  isListing,
  listTags,
  objectKindOfPermission,
  objectPosition,
  whatCan,
  whoCan,
  whoCanTag,
  formatGrants,
  formatPolicySubject,
  formatSight,
} from '../../policy/index.ts'
import type { Io } from '../common/io.ts'
import {
  addCallerOptions,
  addOperationArguments,
  createPrincipal,
  loadForOperation,
  noteUnknownGroups,
  type CallerOptions,
} from './policy-options.ts'
import { addReport, type Report } from './policy-report.ts'
import { addSourceOptions, loadSources, readPolicyContext, type SourceOptions } from './policy-sources.ts'

type WhoCanOptions = SourceOptions & { readonly tag?: string }

export function addWhoCan(policy: Command, io: Io): void {
  const command = policy
    .command('who-can')
    .description('list the callers that are allowed an operation, with conditions and rules')
  addOperationArguments(addSourceOptions(command), '[id]').option(
    '--tag <tag>',
    'instead of an id: everything that has this tag, and tables with columns that have it',
  )
  const examples = [
    'who-can --policies policies DropTable sales/orders',
    'who-can --policies policies --tag pii QueryTable',
  ]
  addReport(command, io, examples, (name: string, id: Identifier | undefined, options: WhoCanOptions) =>
    listCallers(name, id, options, command, io),
  )
}

async function listCallers(
  name: string,
  id: Identifier | undefined,
  options: WhoCanOptions,
  command: Command,
  io: Io,
): Promise<Report> {
  const { tag = '' } = options
  if ((tag === '') === (id === undefined)) command.error('error: expected either an id or --tag <tag>')
  const { operation, set } = await loadForOperation(name, id, options, command, io)
  if (isListing(operation))
    io.stderr.write(
      `note: ${operation} is also allowed to callers that may see something beneath, and then shows them that; see \`policy explain\`\n`,
    )
  if (id !== undefined) {
    const content = whoCan(set, operation, objectPosition(objectKindOfPermission(operation), id))
    return { content, lines: formatEntitlements(`${operation} on ${formatIdentifierText(id)}`, content) }
  }
  const { all } = listTags(set.documents.map(({ tags }) => tags))
  if (!all.has(tag))
    command.error(`error: no policy declares the tag ${JSON.stringify(tag)}${suggestSimilar(tag, all)}`)
  const content = whoCanTag(set, operation, tag)
  const lines = content.flatMap((one) => formatEntitlements(`${operation} on ${formatTagged(one)}`, one))
  const none = [`nothing that ${operation} applies to has the tag ${tag}`]
  return { content, lines: content.length === 0 ? none : lines }
}

function formatTagged({ namespace, table, columns }: ReturnType<typeof whoCanTag>[number]): string {
  if (table === undefined) return `${formatIdentifierText(namespace)} and beneath`
  const which = columns === undefined ? '' : ` (${columns.join(', ')})`
  return formatIdentifierText([...namespace, table]) + which
}

/** Says apart who sees the tagged columns of a table, the table without them, and nothing, if that differs. */
function formatEntitlements(title: string, { columns, allowed, overruled }: Entitlements): readonly string[] {
  const denied = overruled.map(
    ({ subject, rule, deniedBy }) =>
      `${formatPolicySubject(subject)}: ${formatRule(rule)} allows it, ${formatRule(deniedBy)} denies it`,
  )
  const first = `${title}:${allowed.length === 0 ? ' nobody' : ''}`
  if (allowed.every(({ restrictedBy }) => restrictedBy === undefined))
    return [first, ...formatGrants(allowed), ...denied.map((line) => `  not ${line}`)]
  return [
    first,
    ...(['all', 'part', 'nothing'] as const).flatMap((sight) => {
      const own = allowed.filter(({ sees }) => sees === sight)
      const others = sight === 'nothing' ? denied.map((line) => `    ${line}`) : []
      if (own.length + others.length === 0) return []
      return [`  sees ${formatSight(sight, columns)}:`, ...formatGrants(own, '    '), ...others]
    }),
  ]
}

type WhatCanOptions = CallerOptions & SourceOptions

export function addWhatCan(policy: Command, io: Io): void {
  const command = policy
    .command('what-can')
    .description('list the permissions of a caller, with objects, conditions and rules')
  addCallerOptions(addSourceOptions(command))
  const example = 'what-can --policies policies --as sam --group sales-engineers'
  addReport(command, io, [example], async (options: WhatCanOptions) => {
    const { set } = await loadSources(await readPolicyContext(options.config, io, options.policies))
    noteUnknownGroups(options, set, io)
    const caller = createPrincipal(options)
    const content = whatCan(set, caller)
    const isNothing = content.every(({ permits }) => permits.length === 0)
    return { content, lines: isNothing ? [`${caller.name} may do nothing`] : content.flatMap(formatAccess) }
  })
}

function formatAccess({ namespace, permits }: ReturnType<typeof whatCan>[number]): readonly string[] {
  const where = namespace.length === 0 ? 'everywhere' : `${formatIdentifierText(namespace)} and beneath`
  return [`${where}${permits.length === 0 ? ': nothing' : ''}`, ...formatGrants(permits)]
}
