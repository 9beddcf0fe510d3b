import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption } from '../common/arguments.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import { describePermissionSet } from '../../policy/language/describe-permissions.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import { createRestrictionReport } from '../../policy/analysis/reaching-restrictions.ts'
import { whatCan, type PermittedAccess, type NamespaceAccess } from '../../policy/analysis/what-can.ts'
import { createPrincipal, addCallerOptions, type CallerOptions } from './policy-options.ts'
import { noteUnknownGroups } from './note-mistakes.ts'
import { addSourceOptions, requireSources, type SourceOptions } from './policy-sources.ts'
import {
  formatIf,
  formatReachingRule,
  formatRestrictedBy,
  formatRuleReference,
  printGrants,
} from './format-policy.ts'

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
  if (options.json) printJson(io, entries.map(toEntryReport))
  else if (entries.every(({ permits }) => permits.length === 0))
    printLine(io, `${caller.name} may do nothing`)
  else for (const entry of entries) printEntry(io, entry)
}

function printEntry(io: Io, { namespace, permits }: NamespaceAccess): void {
  const where = namespace.length === 0 ? 'everywhere' : `${formatIdentifierText(namespace)} and beneath`
  printLine(io, `${where}${permits.length === 0 ? ': nothing' : ''}`)
  printGrants(io, permits.map(toGrant))
}

function toGrant({ rule, permissions, overridingDenies, restrictions }: PermittedAccess) {
  const limits = [
    ...formatIf(rule.rule.condition),
    ...restrictions.map((one) => formatRestrictedBy(one, formatTables(one.rule.tables, one.exceptTables))),
    ...overridingDenies.map((deny) => {
      const denied = new Set([...permissions].filter((permission) => deny.rule.permissions.has(permission)))
      const when = formatIf(deny.rule.condition).map((text) => ` ${text}`)
      return `unless denied: ${describePermissionSet(denied)}${formatTables(deny.rule.tables)}${when.join('')}  by ${formatRuleReference(createRuleReference(deny))}`
    }),
  ]
  const what = `${describePermissionSet(permissions)}${formatTables(rule.rule.tables)}`
  return { what, by: formatReachingRule(rule), limits }
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
      ...(rule.rule.tables && { tables: rule.rule.tables }),
      ...(rule.rule.condition && { if: rule.rule.condition.text }),
      ...(restrictions.length > 0 && {
        restrictedBy: restrictions.map((restriction) => ({
          ...createRestrictionReport(restriction),
          tables: restriction.rule.tables,
          ...(restriction.exceptTables && { exceptTables: restriction.exceptTables }),
        })),
      }),
      unless: overridingDenies.map((deny) => ({
        rule: createRuleReference(deny),
        operations: [...deny.rule.permissions],
        ...(deny.rule.tables && { tables: deny.rule.tables }),
        ...(deny.rule.condition && { if: deny.rule.condition.text }),
      })),
    })),
  }
}
