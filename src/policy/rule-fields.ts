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
  choiceReader,
  fieldsReader,
  optional,
  someTextsOf,
  textOf,
  textsOf,
  type FaultOfText,
  type Field,
  type Report,
} from './yaml-fields.ts'

const readRule = fieldsReader(ruleFields)
const readEffect = choiceReader(['allow', 'deny'])

/** How long a name of a policy or of a rule may be. */
const maximumLabelLength = 128
const labelGrammar = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${maximumLabelLength - 1}}$`)

/** The rule that begins in that line, or undefined where it cannot be read; every fault in it is reported. */
export function ruleOf(field: Field, line: number, report: Report): PolicyRule | undefined {
  const fields = readRule(field, report)
  if (fields === undefined) return undefined
  const id = labelOf(fields.of('id'), report)
  const effect = readEffect(fields.of('effect'), report)
  const subjects = subjectsOf(fields.of('subjects'), report)
  const permissions = permissionsOf(fields.of('operations'), report)
  const tables = optional(fields, 'tables', tablesOf, report)
  if (tables !== undefined && permissions.size > 0 && ![...permissions].some(concernsTables)) {
    report(
      fields.of('tables').offset,
      `${fields.of('tables').name} has no meaning here: none of the operations is one on a table`,
    )
  }
  const condition = optional(fields, 'when', conditionOf, report)
  if (id === undefined || effect === undefined) return undefined
  return { id, effect, subjects, permissions, tables, condition, line }
}

/** A condition; a fault in it points at the very characters. */
function conditionOf(field: Field, report: Report): Condition | undefined {
  const text = textOf(field, report)
  if (text === undefined || field.node?.kind !== 'scalar') return undefined
  const condition = conditionNamed(text)
  if (!isFault(condition)) return condition
  report(offsetIn(field.file, field.node, condition.index), `${field.name}: ${condition.message}`)
  return undefined
}

/** The condition of that text, or what is wrong with it. */
export function conditionNamed(text: string): Condition | ConditionFault {
  let condition = compiled.get(text)
  if (condition === undefined) {
    condition = compileCondition(text)
    compiled.set(text, condition)
  }
  return condition
}

/** Many rules have the same conditions; each is compiled once. */
const compiled = new LRUCache<string, Condition | ConditionFault>({ max: 1000 })

/** A name that can stand in a log line: of a policy or of a rule. */
export function labelOf(field: Field, report: Report): string | undefined {
  const label = textOf(field, report)
  if (label === undefined || labelGrammar.test(label)) return label
  report(
    field.offset,
    `${field.name} is ${JSON.stringify(label)}; expected 1 to ${maximumLabelLength} letters, digits or any of . _ -`,
  )
  return undefined
}

/** The id of a namespace. A part that no namespace can be called is a fault: the policy would never apply. */
export function namespaceOf(field: Field, report: Report): Identifier {
  return textsOf(field, '[prod, sales]', report, (part) =>
    part.includes('*') ? (item) => `${item} holds "*"; a namespace is named exactly` : faultOfName(part),
  )
}

/** Operations and groups of them, spelled out. */
export function permissionsOf(field: Field, report: Report): ReadonlySet<Permission> {
  return permissionsNamed(someTextsOf(field, '[read, InsertIntoTable]', report, faultOfPermission))
}

/** What operations and groups of them stand for; names that are neither stand for nothing. */
function permissionsNamed(names: readonly string[]): ReadonlySet<Permission> {
  const key = names.join(' ')
  let permissions = spelledOut.get(key)
  if (permissions === undefined) {
    permissions = new Set(names.flatMap((name) => members.get(name) ?? []))
    spelledOut.set(key, permissions)
  }
  return permissions
}

/** Whether that is an operation or a group of them. */
function isPermissionName(name: string): boolean {
  return members.has(name)
}

function faultOfPermission(name: string): ReturnType<FaultOfText> {
  if (isPermissionName(name)) return undefined
  const suggestion = didYouMean(name, [...permissionNames, ...permissionGroups.keys()])
  return (item) => `${item}: no operation or group is called ${JSON.stringify(name)}${suggestion}`
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
  return someTextsOf(field, '[orders, "evt_*"]', report, (pattern) =>
    pattern.includes('**')
      ? (item) => `${item} holds "**"; leave "tables" out for everything beneath the namespace`
      : faultOfName(pattern.replaceAll('*', 'x')),
  )
}

/** A rule or a namespace with a name that nothing can be called would silently never apply. */
function faultOfName(name: string): ReturnType<FaultOfText> {
  const message = (item: string): string | undefined => {
    try {
      assertName(name, item)
      return undefined
    } catch (error) {
      if (!(error instanceof InterfaceError)) throw error
      return error.message
    }
  }
  return message('') === undefined ? undefined : (item) => message(item) ?? ''
}
