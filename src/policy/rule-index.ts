import type { Principal } from '../identity/principal.ts'
import type { Condition } from './condition.ts'
import type { Decision } from './decision.ts'
import type { NameMatcher } from './name-pattern.ts'
import type { NamedSubjects, Subjects } from './policy-document.ts'
import { meet, type PermissionBits } from './permission-bits.ts'
import type { Inquiry } from './question.ts'

/** A rule made ready to be asked; its bits are the permissions that it concerns. */
export interface CompiledRule extends PermissionBits {
  /** Its place among all rules: by file, and from the top of each. */
  readonly order: number
  readonly effect: 'allow' | 'deny'
  readonly subjects: Subjects
  /** Undefined for the namespace itself and everything beneath it. */
  readonly tables: readonly NameMatcher[] | undefined
  /** For each of `tables` a name that stands for all that it matches (name-pattern.ts). */
  readonly samples: readonly string[] | undefined
  readonly condition: Condition | undefined
  /** What is answered where this rule decides; made once. */
  readonly decision: Decision
  /** Takes the error of a condition that could not be told. */
  readonly failed: (error: unknown) => void
}

/** The rules of one effect in one namespace; its bits are those of all of them. */
export interface RuleIndex {
  low: number
  high: number
  /** In order. */
  readonly rules: CompiledRule[]
  /** The same by whom they concern; undefined where they are so few that going through them is faster. */
  bySubject: RulesBySubject | undefined
}

/** Rules by whom they concern, each list in order. */
interface RulesBySubject {
  readonly any: CompiledRule[]
  readonly users: Map<string, CompiledRule[]>
  readonly groups: Map<string, CompiledRule[]>
  readonly keys: Map<string, CompiledRule[]>
}

/** As many rules are gone through. */
const few = 8

/** Stands for any table in the namespace of the rules, also one that does not exist yet. */
export const anyTable = Symbol('any table')

/**
 * What is asked of the rules of a namespace: the name of a table directly in it, or undefined for the namespace
 * itself and whatever lies deeper.
 */
export type TableQuestion = string | typeof anyTable | undefined

/**
 * How a condition counts that asks for what is not known: against the caller (`worst`: a deny applies, an allow
 * does not) or for the caller (`best`). A condition that fails always counts against the caller.
 */
export type Outlook = 'worst' | 'best'

/** What is asked of every rule on the way of a decision. */
export interface Asked {
  readonly inquiry: Inquiry
  /** The permission of the inquiry. */
  readonly bit: PermissionBits
  /** The name of what is asked about, and how deep the namespace is that it is in; undefined for a namespace. */
  readonly table: string | undefined
  readonly depth: number
  readonly outlook: Outlook
}

/** An index of no rules. */
export function emptyIndex(): RuleIndex {
  return { low: 0, high: 0, rules: [], bySubject: undefined }
}

/** Adds a rule that comes after all that the index holds. */
export function addRule(index: RuleIndex, rule: CompiledRule): void {
  index.low |= rule.low
  index.high |= rule.high
  index.rules.push(rule)
  if (index.bySubject !== undefined) addBySubject(index.bySubject, rule)
  else if (index.rules.length > few) index.bySubject = bySubject(index.rules)
}

/** The first rule, in order, that concerns the principal and applies; undefined where none does. */
export function firstApplying(
  index: RuleIndex,
  asked: Asked,
  table: TableQuestion,
): CompiledRule | undefined {
  if (!meet(index, asked.bit)) return undefined
  if (index.bySubject !== undefined) return firstBySubject(index.bySubject, asked, table)
  const { principal } = asked.inquiry
  for (const rule of index.rules) {
    if (meet(rule, asked.bit) && concerns(rule, principal) && applies(rule, asked, table)) return rule
  }
  return undefined
}

function firstBySubject(
  { any, users, groups, keys }: RulesBySubject,
  asked: Asked,
  table: TableQuestion,
): CompiledRule | undefined {
  const { principal } = asked.inquiry
  let first = earliest(any, asked, table, undefined)
  first = earliest(users.get(principal.name), asked, table, first)
  if (keys.size > 0 && principal.method === 'api-key') {
    first = earliest(keys.get(principal.credentialId), asked, table, first)
  }
  // A token may carry hundreds of groups, and a namespace may name hundreds: the fewer are looked up in the more.
  if (principal.groups.size < groups.size) {
    for (const group of principal.groups) first = earliest(groups.get(group), asked, table, first)
  } else {
    for (const [group, rules] of groups) {
      if (principal.groups.has(group)) first = earliest(rules, asked, table, first)
    }
  }
  return first
}

function bySubject(rules: readonly CompiledRule[]): RulesBySubject {
  const index = { any: [], users: new Map(), groups: new Map(), keys: new Map() }
  for (const rule of rules) addBySubject(index, rule)
  return index
}

function addBySubject(index: RulesBySubject, rule: CompiledRule): void {
  const { any, users, groups, keys } = rule.subjects
  if (any) index.any.push(rule)
  for (const user of new Set(users)) append(index.users, user, rule)
  for (const group of new Set(groups)) append(index.groups, group, rule)
  for (const key of new Set(keys)) append(index.keys, key, rule)
}

function append(lists: Map<string, CompiledRule[]>, name: string, rule: CompiledRule): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [rule])
  else list.push(rule)
}

function earliest(
  rules: readonly CompiledRule[] | undefined,
  asked: Asked,
  table: TableQuestion,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
  if (rules === undefined) return first
  for (const rule of rules) {
    if (first !== undefined && first.order < rule.order) return first
    if (applies(rule, asked, table)) return rule
  }
  return first
}

/** Whether a rule concerns the caller, exceptions aside. */
function concerns({ subjects }: CompiledRule, principal: Principal): boolean {
  return subjects.any || names(subjects, principal)
}

/** Whether a rule that concerns the caller decides the question: the one place where rules are asked. */
function applies(rule: CompiledRule, asked: Asked, table: TableQuestion): boolean {
  return covers(rule, asked, table) && holds(rule, asked)
}

/** Whether a rule that concerns the caller is about what is asked, and the caller no exception. */
function covers(rule: CompiledRule, asked: Asked, table: TableQuestion): boolean {
  if (!meet(rule, asked.bit)) return false
  const { tables } = rule
  if (tables !== undefined && table !== anyTable) {
    if (table === undefined || !tables.some((matches) => matches(table))) return false
  }
  const { except } = rule.subjects
  return except === undefined || !names(except, asked.inquiry.principal)
}

/** Whether the condition of the rule makes it apply, if it has one. */
function holds(rule: CompiledRule, { inquiry, outlook }: Asked): boolean {
  const { condition } = rule
  if (condition === undefined) return true
  const isUnknown =
    (condition.needs.body && inquiry.operation === undefined) ||
    (condition.needs.object && inquiry.id === undefined)
  if (isUnknown) return (rule.effect === 'deny') === (outlook === 'worst')
  try {
    return condition.holds(inquiry)
  } catch (error) {
    rule.failed(error)
    return rule.effect === 'deny'
  }
}

function names({ users, groups, keys }: NamedSubjects, principal: Principal): boolean {
  return (
    users.includes(principal.name) ||
    (principal.method === 'api-key' && keys.includes(principal.credentialId)) ||
    groups.some((group) => principal.groups.has(group))
  )
}
