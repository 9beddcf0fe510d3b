import { isMap, isSeq } from 'yaml'
import { InterfaceError } from '../interface/errors.ts'
import { assertName, type Identifier } from '../interface/identifiers.ts'
import { operationNamed, operations, type OperationName } from '../interface/operations.ts'
import { permissionGroups, permissionNames, type Permission } from '../interface/permissions.ts'
import type { PolicyRule, Subjects } from './policy-document.ts'
import { didYouMean } from './suggestion.ts'
import { choiceOf, fieldsOf, itemsOf, optional, textOf, type Field, type Report } from './yaml-fields.ts'

const nameGrammar = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
// oxlint-disable-next-line no-control-regex
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/** The rule that begins in that line, or undefined where it cannot be read; every fault in it is reported. */
export function ruleOf(field: Field, line: number, report: Report): PolicyRule | undefined {
  const fields = fieldsOf(field, ['id', 'effect', 'subjects', 'operations', 'tables'], report)
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
  if (id === undefined || effect === undefined) return undefined
  return { id, effect, subjects, permissions, tables, line }
}

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

function subjectsOf(field: Field, report: Report): Subjects {
  const fields = fieldsOf(field, ['users', 'groups', 'any'], report)
  if (fields === undefined) return { users: [], groups: [], any: false }
  if (isMap(field.node) && field.node.items.length === 0) {
    report(field.offset, `${field.name} names nobody; expected users, groups or "any: true"`)
  }
  return {
    users: optional(fields.users, (field) => subjectNamesOf(field, report)) ?? [],
    groups: optional(fields.groups, (field) => subjectNamesOf(field, report)) ?? [],
    any: optional(fields.any, (field) => choiceOf(field, [true], report)) ?? false,
  }
}

function subjectNamesOf(field: Field, report: Report): readonly string[] {
  return someTextsOf(field, '[alice, "corp:bob"]', report, (name, item) => {
    if (name === '' || controlCharacter.test(name)) {
      report(item.offset, `${item.name} is ${JSON.stringify(name)}, which nobody is called`)
    } else if (name.includes('*')) {
      report(item.offset, `${item.name} holds "*"; names are exact, and every caller is "any: true"`)
    }
  })
}

function permissionsOf(field: Field, report: Report): ReadonlySet<Permission> {
  const found = new Set<Permission>()
  someTextsOf(field, '[read, InsertIntoTable]', report, (name, item) => {
    const permission = permissionNames.find((candidate) => candidate === name)
    const members = permission === undefined ? permissionGroups.get(name) : [permission]
    for (const member of members ?? []) found.add(member)
    if (members === undefined) {
      const suggestion = didYouMean(name, [...permissionNames, ...permissionGroups.keys()])
      report(
        item.offset,
        `${item.name}: no operation or group is called ${JSON.stringify(name)}${suggestion}`,
      )
    }
  })
  return found
}

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

function someTextsOf(field: Field, example: string, report: Report, check: CheckText): readonly string[] {
  const texts = textsOf(field, example, report, check)
  if (isSeq(field.node) && field.node.items.length === 0) {
    report(field.offset, `${field.name} is empty; expected a list, such as ${example}`)
  }
  return texts
}

type CheckText = (text: string, item: Field) => void

function textsOf(field: Field, example: string, report: Report, check: CheckText): readonly string[] {
  return (itemsOf(field, example, report) ?? []).flatMap((item) => {
    const text = textOf(item, report)
    if (text === undefined) return []
    check(text, item)
    return [text]
  })
}
