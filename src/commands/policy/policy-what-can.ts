import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import { describePermissionSet } from '../../policy/language/policy-vocabulary.ts'
import { whatCan, type PermittedAccess, type NamespaceAccess } from '../../policy/analysis/what-can.ts'
import { createPrincipal, addCallerOptions, type CallerOptions } from './policy-options.ts'
import { noteUnknownGroups } from './note-mistakes.ts'
import { addSourceOptions, requireSources, type SourceOptions } from './policy-sources.ts'
import { formatGrants, formatRestriction, printReport } from './format-policy.ts'

interface Options extends CallerOptions, SourceOptions {
  readonly json?: true
}

export function addWhatCan(policy: Command, io: Io): void {
  addCallerOptions(
    addSourceOptions(
      policy
        .command('what-can')
        .description('list the permissions of a caller, with objects, conditions and rules'),
    ),
  )
    .option(...jsonOption)
    .addHelpText(
      'after',
      formatExample('catalog-gateway policy what-can --policies policies --as sam --group sales-engineers'),
    )
    .action((options: Options) => list(options, io))
}

async function list(options: Options, io: Io): Promise<void> {
  const { documents, set } = await requireSources(options, io)
  noteUnknownGroups(options, documents, io)
  const caller = createPrincipal(options)
  const entries = whatCan(set, caller)
  const lines = entries.every(({ permits }) => permits.length === 0)
    ? [`${caller.name} may do nothing`]
    : entries.flatMap(formatEntry)
  printReport(io, options.json, entries, lines)
}

function formatEntry({ namespace, permits }: NamespaceAccess): readonly string[] {
  const where = namespace.length === 0 ? 'everywhere' : `${formatIdentifierText(namespace)} and beneath`
  return [`${where}${permits.length === 0 ? ': nothing' : ''}`, ...formatGrants(permits.map(toGrant))]
}

function toGrant({ restrictedBy = [], unless, ...permit }: PermittedAccess) {
  return {
    ...permit,
    what: describe(permit),
    limits: restrictedBy.map((one) => formatRestriction(one, formatTables(one.tables, one.exceptTables))),
    unless: unless.map((deny) => ({ ...deny, what: describe(deny) })),
  }
}

function describe({ operations, tables }: Pick<PermittedAccess, 'operations' | 'tables'>): string {
  return describePermissionSet(new Set(operations)) + formatTables(tables)
}

function formatTables(tables: readonly string[] | undefined, except: readonly string[] = []): string {
  const others = except.length === 0 ? '' : ` except ${except.join(', ')}`
  return tables === undefined ? '' : ` on the tables ${tables.join(', ')}${others} in this namespace`
}
