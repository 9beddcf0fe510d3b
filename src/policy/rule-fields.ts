import { LRUCache } from 'lru-cache'
import { InterfaceError } from '../interface/errors.ts'
import { assertName, type Identifier } from '../interface/identifiers.ts'
import { operationNamed, operations, type OperationName } from '../interface/operations.ts'
import { permissionGroups, permissionNames, type Permission } from '../interface/permissions.ts'
import { compileCondition, isFault, type Condition, type ConditionFault } from './condition.ts'
import { ruleFields } from './language.ts'
import type { PolicyRule } from './policy-document.ts'
import { subjectsOf } from './subject-fields.ts'
import { didYouMean } from './suggestion.ts'
import { offsetIn } from './text-positions.ts'
import {
  choiceOf,
  fieldsOf,
  optional,
  someTextsOf,
  textOf,
  textsOf,
  type Field,
  type Report,
} from './yaml-fields.ts'

const nameGrammar = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** The rule that begins in that line, or undefined where it cannot be read; every fault in it is reported. */
export function ruleOf(field: Field, line: number, report: Report): PolicyRule | undefined {
  const fields = fieldsOf(field, ruleFields, report)
  if (fields === undefined) return undefined
  const id = labelOf(fields.id, report)
  const effect = choiceOf(fields.effect, ['allow', 'deny'], report)
  const subjects = subjectsOf(fields.subjects, report)
  const permissions = permissionsOf(fields.operations, report)
  const tables = optional(fields.tables, (field) => tablesOf(field, report))
  if (tables !== undefined && permissions.size > 0 && ![...permissions].some(concernsTables)) {
    report(
      fields.tables.offset,
      `${fields.tables.name} has no meaning here: none of the operations is one on a table`,
    )
  }
  const condition = optional(fields.when, (field) => conditionOf(field, report))
  if (id === undefined || effect === undefined) return undefined
  return { id, effect, subjects, permissions, tables, condition, line }
}

/** A condition; a fault in it points at the very characters. */
function conditionOf(field: Field, report: Report): Condition | undefined {
  const text = textOf(field, report)
  if (text === undefined || field.node?.kind !== 'scalar') return undefined
  let condition = compiled.get(text)
  if (condition === undefined) {
    condition = compileCondition(text)
    compiled.set(text, condition)
  }
  if (!isFault(condition)) return condition
  report(offsetIn(field.file, field.node, condition.index), `${field.name}: ${condition.message}`)
  return undefined
}

/** Many rules have the same conditions; each is compiled once. */
const compiled = new LRUCache<string, Condition | ConditionFault>({ max: 1000 })

/** A name that can stand in a log line: of a policy or of a rule. */
export function labelOf(field: Field, report: Report): string | undefined {
  const label = textOf(field, report)
  if (label === undefined || nameGrammar.test(label)) return label
  report(
    field.offset,
    `${field.name} is ${JSON.stringify(label)}; expected 1 to 128 letters, digits or any of . _ -`,
  )
  return undefined
}

/** The id of a namespace. A part that no namespace can be called is a fault: the policy would never apply. */
export function namespaceOf(field: Field, report: Report): Identifier {
  return textsOf(field, '[prod, sales]', report, (part, item) => {
    if (part.includes('*')) report(item.offset, `${item.name} holds "*"; a namespace is named exactly`)
    else assertUsable(part, item, report)
  })
}

/** Operations and groups of them, spelled out. */
export function permissionsOf(field: Field, report: Report): ReadonlySet<Permission> {
  const names = someTextsOf(field, '[read, InsertIntoTable]', report, (name, item) => {
    if (members.has(name)) return
    const suggestion = didYouMean(name, [...permissionNames, ...permissionGroups.keys()])
    report(item.offset, `${item.name}: no operation or group is called ${JSON.stringify(name)}${suggestion}`)
  })
  const key = names.join(' ')
  let permissions = spelledOut.get(key)
  if (permissions === undefined) {
    permissions = new Set(names.flatMap((name) => members.get(name) ?? []))
    spelledOut.set(key, permissions)
  }
  return permissions
}

/** Most rules are about the same few lists of operations; each is kept once. */
const spelledOut = new LRUCache<string, ReadonlySet<Permission>>({ max: 1000 })

/** What each operation and group stands for. */
const members: ReadonlyMap<string, readonly Permission[]> = new Map([
  ...permissionGroups,
  ...permissionNames.map((name) => [name, [name]] as const),
])

function concernsTables(permission: Permission): boolean {
  if (!(permission in operations)) return true
  const { object } = operationNamed(permission as OperationName)
  return object !== 'namespace' && object !== 'none'
}

function tablesOf(field: Field, report: Report): readonly string[] {
  return someTextsOf(field, '[orders, "evt_*"]', report, (pattern, item) => {
    if (pattern.includes('**')) {
      report(item.offset, `${item.name} holds "**"; leave "tables" out for everything beneath the namespace`)
    } else {
      assertUsable(pattern.replaceAll('*', 'x'), item, report)
    }
  })
}

/** A rule or a namespace with a name that nothing can be called would silently never apply. */
function assertUsable(name: string, field: Field, report: Report): void {
  try {
    assertName(name, field.name)
  } catch (error) {
    if (!(error instanceof InterfaceError)) throw error
    report(field.offset, error.message)
  }
}
