import type { Command } from 'commander'
import type { Identifier } from '../interface/identifiers.ts'
import type { Permission } from '../interface/permissions.ts'
import { kindOf } from '../policy/object-kind.ts'
import { referenceTo } from '../policy/rule-reach.ts'
import { whoCan, type Entitlement, type Objection } from '../policy/who-can.ts'
import {
  idArgument,
  identifier,
  jsonOption,
  operationArgument,
  permission,
  policiesIn,
  policiesOption,
} from './policy-arguments.ts'
import {
  columns,
  print,
  printJson,
  showCondition,
  showId,
  showNames,
  showReaching,
  showSubject,
  showSubjects,
} from './policy-text.ts'

interface Options {
  readonly policies: string
  readonly json?: true
}

/** `policy who-can`: everybody who may do something. */
export function addWhoCan(policy: Command): void {
  policy
    .command('who-can')
    .description('list the callers that are allowed an operation, with conditions and rules')
    .requiredOption(...policiesOption)
    .option(...jsonOption)
    .argument(...operationArgument, permission)
    .argument(...idArgument, identifier)
    .addHelpText(
      'after',
      '\nExample:\n  catalog-gateway policy who-can --policies policies DropTable sales/orders',
    )
    .action(list)
}

async function list(operation: Permission, id: Identifier, { policies, json }: Options): Promise<void> {
  const { documents } = await policiesIn(policies)
  const { allowed, overruled } = whoCan(documents, operation, kindOf(operation), id)
  if (json) {
    printJson({
      allowed: allowed.map(entitlementReport),
      overruled: overruled.map(({ subject, by, overruledBy }) => ({
        subject,
        rule: referenceTo(by),
        deniedBy: referenceTo(overruledBy),
      })),
    })
    return
  }
  print(`${operation} on ${showId(id)}: ${allowed.length === 0 ? 'nobody' : ''}`.trimEnd())
  const lines = columns(
    allowed.map(({ subject, by }) => [`  ${showSubject(subject)}`, `by ${showReaching(by)}`]),
  )
  for (const [index, entitlement] of allowed.entries()) {
    print(lines[index] ?? '')
    for (const line of restrictionsOf(entitlement)) print(`    ${line}`)
  }
  for (const { subject, by, overruledBy } of overruled) {
    print(
      `  not ${showSubject(subject)}: ${showReaching(by)} allows it, ${showReaching(overruledBy)} denies it`,
    )
  }
}

function restrictionsOf({ by, except, objections }: Entitlement): readonly string[] {
  const { condition } = by.rule
  return [
    ...(condition === undefined ? [] : [`if ${showCondition(condition.text)}`]),
    ...(except === undefined ? [] : [`except ${showNames(except)}`]),
    ...objections.map(showObjection),
  ]
}

function showObjection({ by, subjects }: Objection): string {
  const whom = subjects === undefined ? '' : ` ${showSubjects(subjects)}`
  const condition = by.rule.condition === undefined ? '' : ` if ${showCondition(by.rule.condition.text)}`
  return `unless denied:${whom}${condition}  by ${showReaching(by)}`
}

function entitlementReport({ subject, by, except, objections }: Entitlement): unknown {
  return {
    subject,
    rule: referenceTo(by),
    ...(by.rule.condition && { if: by.rule.condition.text }),
    ...(except && { except }),
    unless: objections.map(({ by, subjects }) => ({
      rule: referenceTo(by),
      ...(subjects && { subjects }),
      ...(by.rule.condition && { if: by.rule.condition.text }),
    })),
  }
}
