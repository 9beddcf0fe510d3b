import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import { describePermissionSet } from '../../policy/language/describe-permissions.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import { createRestrictionReport } from '../../policy/analysis/reaching-restrictions.ts'
import { whatCan, type PermittedAccess, type NamespaceAccess } from '../../policy/analysis/what-can.ts'
import { createPrincipal, addCallerOptions, type CallerOptions } from './policy-options.ts'
import { noteUnknownGroups } from './note-mistakes.ts'
import { addSourceOptions, requireSources, type SourceOptions } from './policy-sources.ts'
import { formatGrants, formatIf, formatRestrictedBy, formatUnless, printReport } from './format-policy.ts'

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
  printReport(io, options.json, entries.map(toEntryReport), lines)
}

function formatEntry({ namespace, permits }: NamespaceAccess): readonly string[] {
  const where = namespace.length === 0 ? 'everywhere' : `${formatIdentifierText(namespace)} and beneath`
  return [`${where}${permits.length === 0 ? ': nothing' : ''}`, ...formatGrants(permits.map(toGrant))]
}

function toGrant({ rule, permissions, overridingDenies, restrictions }: PermittedAccess) {
  const limits = [
    ...formatIf(rule.rule.condition),
    ...restrictions.map((one) => formatRestrictedBy(one, formatTables(one.rule.tables, one.exceptTables))),
    ...overridingDenies.map(({ document, rule: deny }) => {
      const denied = new Set([...permissions].filter((permission) => deny.permissions.has(permission)))
      const what = `${describePermissionSet(denied)}${formatTables(deny.tables)}`
      return formatUnless([what], deny.condition, { document, rule: deny })
    }),
  ]
  return { what: `${describePermissionSet(permissions)}${formatTables(rule.rule.tables)}`, rule, limits }
}

function formatTables(tables: readonly string[] | undefined, except: readonly string[] = []): string {
  const others = except.length === 0 ? '' : ` except ${except.join(', ')}`
  return tables === undefined ? '' : ` on the tables ${tables.join(', ')}${others} in this namespace`
}

function toEntryReport({ namespace, permits }: NamespaceAccess): unknown {
  return {
    namespace,
    permits: permits.map(({ rule, permissions, overridingDenies, restrictions }) => ({
      operations: [...permissions],
      rule: createRuleReference(rule),
      tables: rule.rule.tables,
      if: rule.rule.condition?.text,
      ...(restrictions.length > 0 && {
        restrictedBy: restrictions.map((restriction) => ({
          ...createRestrictionReport(restriction),
          tables: restriction.rule.tables,
          exceptTables: restriction.exceptTables,
        })),
      }),
      unless: overridingDenies.map((deny) => ({
        rule: createRuleReference(deny),
        operations: [...deny.rule.permissions],
        tables: deny.rule.tables,
        if: deny.rule.condition?.text,
      })),
    })),
  }
}
