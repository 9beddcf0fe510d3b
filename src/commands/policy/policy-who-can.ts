import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption, parseIdArgument } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { listTags } from '../../policy/tags/object-tags.ts'
import { objectKindOfPermission, objectPosition } from '../../policy/engine/object-position.ts'
import {
  whoCan,
  whoCanTag,
  type Entitlements,
  type Sight,
  type TaggedEntitlements,
} from '../../policy/analysis/who-can.ts'
import { idArgument, operationArgument, requirePermission } from './policy-options.ts'
import { noteListing, noteMistakenId } from './note-mistakes.ts'
import { addSourceOptions, readPolicyContext, requireSources, type SourceOptions } from './policy-sources.ts'
import { formatGrants, formatPolicySubject, formatRule, printReport } from './format-policy.ts'

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
    const title = `${operation} on ${formatIdentifierText(id)}`
    printReport(io, json, entitlements, formatEntitlements(title, entitlements))
    return
  }
  const { all } = listTags(set.documents.map(({ tags }) => tags))
  if (tag === undefined || !all.has(tag))
    return command.error(
      `error: no policy declares the tag ${JSON.stringify(tag)}${suggestSimilar(tag ?? '', all)}`,
    )
  const found = whoCanTag(set, operation, tag)
  const lines = found.flatMap((one) => formatEntitlements(`${operation} on ${formatTagged(one)}`, one))
  printReport(
    io,
    json,
    found,
    found.length === 0 ? [`nothing that ${operation} applies to has the tag ${tag}`] : lines,
  )
}

function formatTagged({ namespace, table, columns }: TaggedEntitlements): string {
  if (table === undefined) return `${formatIdentifierText(namespace)} and beneath`
  const which = columns === undefined ? '' : ` (${columns.join(', ')})`
  return formatIdentifierText([...namespace, table]) + which
}

/** Says apart who sees the tagged columns of a table, the table without them, and nothing, if that differs. */
function formatEntitlements(title: string, { columns, allowed, overruled }: Entitlements): readonly string[] {
  const names = columns?.join(', ')
  const sights: Readonly<Record<Sight, string>> = {
    all: names ?? 'the whole table',
    part: names === undefined ? 'a part of the table' : `the table without ${names}`,
    nothing: 'nothing',
  }
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
      return [`  sees ${sights[sight]}:`, ...formatGrants(own, '    '), ...others]
    }),
  ]
}
