import type { Principal } from '../identity/principal.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Decision } from './decision.ts'
import type { NameMatcher } from './name-pattern.ts'
import type { Subjects } from './policy-document.ts'

/** A rule made ready to be asked. */
export interface CompiledRule {
  /** Its place among all rules: by file, and from the top of each. */
  readonly order: number
  readonly subjects: Subjects
  readonly permissions: ReadonlySet<Permission>
  /** Undefined for the namespace itself and everything beneath it. */
  readonly tables: readonly NameMatcher[] | undefined
  /** What is answered where this rule decides; made once. */
  readonly decision: Decision
}

/** The rules of one effect in one namespace, by whom they concern, each list in order. */
export interface RuleIndex {
  readonly any: CompiledRule[]
  readonly users: Map<string, CompiledRule[]>
  readonly groups: Map<string, CompiledRule[]>
}

/** Stands for any table in the namespace of the rules, also one that does not exist yet. */
export const anyTable = Symbol('any table')

/**
 * What is asked of the rules of a namespace: the name of a table directly in it, or undefined for the namespace
 * itself and whatever lies deeper.
 */
export type TableQuestion = string | typeof anyTable | undefined

/** An index of no rules. */
export function emptyIndex(): RuleIndex {
  return { any: [], users: new Map(), groups: new Map() }
}

/** Adds a rule that comes after all that the index holds. */
export function addRule(index: RuleIndex, rule: CompiledRule): void {
  if (rule.subjects.any) index.any.push(rule)
  for (const user of new Set(rule.subjects.users)) append(index.users, user, rule)
  for (const group of new Set(rule.subjects.groups)) append(index.groups, group, rule)
}

/** The first rule, in order, that concerns the principal and applies; undefined where none does. */
export function firstApplying(
  index: RuleIndex,
  principal: Principal,
  permission: Permission,
  table: TableQuestion,
): CompiledRule | undefined {
  let first = earliest(index.any, permission, table, undefined)
  first = earliest(index.users.get(principal.name), permission, table, first)
  // A token may carry hundreds of groups, and a namespace may name hundreds: the fewer are looked up in the more.
  if (principal.groups.size < index.groups.size) {
    for (const group of principal.groups) first = earliest(index.groups.get(group), permission, table, first)
  } else {
    for (const [group, rules] of index.groups) {
      if (principal.groups.has(group)) first = earliest(rules, permission, table, first)
    }
  }
  return first
}

function append(lists: Map<string, CompiledRule[]>, name: string, rule: CompiledRule): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [rule])
  else list.push(rule)
}

function earliest(
  rules: readonly CompiledRule[] | undefined,
  permission: Permission,
  table: TableQuestion,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
  if (rules === undefined) return first
  for (const rule of rules) {
    if (first !== undefined && first.order < rule.order) return first
    if (applies(rule, permission, table)) return rule
  }
  return first
}

/** Whether a rule that concerns the caller decides the question: the one place where rules are asked. */
function applies(rule: CompiledRule, permission: Permission, table: TableQuestion): boolean {
  if (!rule.permissions.has(permission)) return false
  if (rule.tables === undefined || table === anyTable) return true
  return table !== undefined && rule.tables.some((matches) => matches(table))
}
