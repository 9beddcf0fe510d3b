import type { Command } from 'commander'
import { namesOfPermissions } from '../policy/permission-names.ts'
import { referenceTo } from '../policy/rule-reach.ts'
import { whatCan, type Permit, type Permits } from '../policy/what-can.ts'
import {
  callerOf,
  callerOptions,
  jsonOption,
  policiesIn,
  policiesOption,
  type CallerOptions,
} from './policy-arguments.ts'
import { columns, print, printJson, showCondition, showId, showReaching } from './policy-text.ts'

interface Options extends CallerOptions {
  readonly policies: string
  readonly json?: true
}

/** `policy what-can`: everything that somebody may do. */
export function addWhatCan(policy: Command): void {
  callerOptions(
    policy
      .command('what-can')
      .description('list the permissions of a caller, with objects, conditions and rules')
      .requiredOption(...policiesOption),
  )
    .option(...jsonOption)
    .addHelpText(
      'after',
      '\nExample:\n  catalog-gateway policy what-can --policies policies --as sam --group sales-engineers',
    )
    .action(list)
}

async function list(options: Options): Promise<void> {
  const { documents } = await policiesIn(options.policies)
  const caller = callerOf(options)
  const entries = whatCan(documents, caller)
  if (options.json) printJson(entries.map(entryReport))
  else if (entries.every(({ permits }) => permits.length === 0)) print(`${caller.name} may do nothing`)
  else for (const entry of entries) showEntry(entry)
}

function showEntry({ namespace, permits }: Permits): void {
  const where = namespace.length === 0 ? 'everywhere' : `${showId(namespace)} and beneath`
  print(`${where}${permits.length === 0 ? ': nothing' : ''}`)
  const lines = columns(
    permits.map(({ by, permissions }) => [
      `  ${namesOfPermissions(permissions)}${tablesOf(by.rule.tables)}`,
      `by ${showReaching(by)}`,
    ]),
  )
  for (const [index, permit] of permits.entries()) {
    print(lines[index] ?? '')
    for (const line of restrictionsOf(permit)) print(`    ${line}`)
  }
}

function restrictionsOf({ by, permissions, objections }: Permit): readonly string[] {
  const { condition } = by.rule
  return [
    ...(condition === undefined ? [] : [`if ${showCondition(condition.text)}`]),
    ...objections.map((deny) => {
      const denied = new Set([...permissions].filter((permission) => deny.rule.permissions.has(permission)))
      const when = deny.rule.condition === undefined ? '' : ` if ${showCondition(deny.rule.condition.text)}`
      return `unless denied: ${namesOfPermissions(denied)}${tablesOf(deny.rule.tables)}${when}  by ${showReaching(deny)}`
    }),
  ]
}

function tablesOf(tables: readonly string[] | undefined): string {
  return tables === undefined ? '' : ` on the tables ${tables.join(', ')} in this namespace`
}

function entryReport({ namespace, permits }: Permits): unknown {
  return {
    namespace,
    permits: permits.map(({ by, permissions, objections }) => ({
      operations: [...permissions],
      rule: referenceTo(by),
      ...(by.rule.tables && { tables: by.rule.tables }),
      ...(by.rule.condition && { if: by.rule.condition.text }),
      unless: objections.map((deny) => ({
        rule: referenceTo(deny),
        operations: [...deny.rule.permissions],
        ...(deny.rule.tables && { tables: deny.rule.tables }),
        ...(deny.rule.condition && { if: deny.rule.condition.text }),
      })),
    })),
  }
}
