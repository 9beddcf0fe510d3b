import type { Condition } from '../conditions/condition.ts'
import type { AuthorizationRequest, ConditionInput } from '../conditions/authorization-request.ts'
import { MissingFactError } from '../conditions/fact.ts'
import type { NameMatcher } from '../conditions/name-pattern.ts'
import type { ObjectTags } from '../tags/object-tags.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { PolicyNode, RuleIndex, TreePosition } from './policy-node.ts'
import type { NumberedCaller } from './subject-numbers.ts'
import { matchSubjects } from './subject.ts'

/** Any table in the namespace of the rules, including tables that do not exist yet. */
export const anyTable = Symbol('any table')

/** A table directly in the namespace of the rules; undefined for the namespace itself and deeper objects. */
export type TableSelector = string | typeof anyTable | undefined

/** Result of a condition: `open` if it depends on a pending part of the input. `failed` makes a deny apply and an allow not. */
export type ConditionResult = 'true' | 'false' | 'failed' | 'open'

/** Results that are known without evaluation. */
export interface KnownConditions {
  get(condition: Condition): ConditionResult | undefined
  /** If defined, called with each other result that is the same for all objects, unless the condition failed. */
  set?(condition: Condition, result: ConditionResult): void
}

/** What is evaluated, and what the evaluation found besides the deciding rule. */
export interface Evaluation {
  readonly input: ConditionInput & Pick<AuthorizationRequest, 'permission'> & { readonly tags: ObjectTags }
  readonly caller: NumberedCaller
  /** The namespace of the object, or the nearest one above. */
  readonly node: PolicyNode
  /** Depth of the namespace of the object, and the name of a table; undefined for a namespace. */
  readonly depth: number
  readonly table: string | undefined
  readonly knownConditions: KnownConditions | undefined
  /** Whether the result may be different for another object with the same `node` and `depth`. */
  dependsOnObject: boolean
  /** Rules that would decide if what is not known of the input were so. */
  openDeny: CompiledRule | undefined
  openAllow: CompiledRule | undefined
  /** Why the last condition failed that did. */
  error: unknown
}

export function createEvaluation(
  input: Evaluation['input'],
  caller: NumberedCaller,
  { node, depth, table }: Omit<TreePosition, 'tags'>,
  knownConditions?: KnownConditions,
): Evaluation {
  return {
    input,
    caller,
    node,
    depth,
    table,
    knownConditions,
    dependsOnObject: false,
    openDeny: undefined,
    openAllow: undefined,
    error: undefined,
  }
}

/**
 * Returns the first rule, in order, that covers the permission, names the caller and applies. Notes rules that may apply
 * in the evaluation.
 */
export function findFirst(
  { all, bySubject, permissions }: RuleIndex,
  evaluation: Evaluation,
  table: TableSelector,
): CompiledRule | undefined {
  if (!permissions.has(evaluation.input.permission)) return undefined
  const { subjects, known } = evaluation.caller
  if (known !== undefined && subjects.size === 0) return earliest(all, evaluation, table, undefined)
  let first: CompiledRule | undefined
  // A token may have hundreds of groups and a namespace hundreds of subjects: iterate over the smaller set.
  if (subjects.size < bySubject.size) {
    for (const number of subjects) first = earliest(bySubject.get(number), evaluation, table, first)
  } else {
    for (const [number, rules] of bySubject) {
      if (subjects.has(number)) first = earliest(rules, evaluation, table, first)
    }
  }
  return first
}

function earliest(
  rules: readonly CompiledRule[] | undefined,
  evaluation: Evaluation,
  table: TableSelector,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
  if (rules === undefined) return first
  for (const rule of rules) {
    if (first !== undefined && first.order < rule.order) return first
    if (!rule.permissions.has(evaluation.input.permission)) continue
    const outcome = judgeRule(rule, evaluation, table)
    if (outcomeApplies(rule, outcome)) return rule
    if (outcome !== 'open') continue
    if (rule.effect === 'deny') evaluation.openDeny ??= rule
    else evaluation.openAllow ??= rule
  }
  return first
}

/** What becomes of a rule about the permission. It applies, or it is not known whether it does, or why it does not. */
export type RuleOutcome = 'applies' | 'open' | 'other-caller' | 'other-table' | 'false' | 'failed'

/** Judges a rule that covers the permission and has one of the subjects of the caller, exceptions aside. */
export function judgeRule(rule: CompiledRule, evaluation: Evaluation, table: TableSelector): RuleOutcome {
  const { known, subjects } = evaluation.caller
  let isOpen = false
  if (known !== undefined) {
    const match = matchSubjects(rule.rule.subjects, known)
    if (match === false) return 'other-caller'
    isOpen = match !== true
  } else if (rule.except.length > 0 && rule.except.some((number) => subjects.has(number)))
    return 'other-caller'
  if (rule.tables !== undefined) {
    if (table === undefined) return 'other-table'
    evaluation.dependsOnObject = true
    if (!matchesTable(rule.tables, table)) return 'other-table'
  }
  if (rule.condition !== undefined) {
    const result = judgeCondition(rule, rule.condition, evaluation)
    if (result === 'false' || (result === 'failed' && rule.effect === 'allow')) return result
    if (result === 'open') return result
    if (result === 'failed' && !isOpen) return result
  }
  return isOpen ? 'open' : 'applies'
}

/** A deny applies if its condition fails. */
export function outcomeApplies({ effect }: Pick<CompiledRule, 'effect'>, outcome: string): boolean {
  return outcome === 'applies' || (outcome === 'failed' && effect === 'deny')
}

function matchesTable(tables: readonly NameMatcher[], table: NonNullable<TableSelector>): boolean {
  return table === anyTable || tables.some((matches) => matches(table))
}

export function judgeCondition(
  rule: CompiledRule,
  condition: Condition,
  evaluation: Evaluation,
): ConditionResult {
  const known = evaluation.knownConditions?.get(condition)
  if (known !== undefined) return known
  const result = evaluateCondition(rule, condition, evaluation)
  if (condition.readsId || condition.tags.length > 0) evaluation.dependsOnObject = true
  else if (result !== 'failed') evaluation.knownConditions?.set?.(condition, result)
  return result
}

function evaluateCondition(
  rule: CompiledRule,
  condition: Condition,
  evaluation: Evaluation,
): ConditionResult {
  try {
    return condition.evaluate(evaluation.input) ? 'true' : 'false'
  } catch (error) {
    const isMissing = error instanceof MissingFactError
    if (isMissing && error.isPending) return 'open'
    // Analyses report no failures.
    if (!isMissing && evaluation.caller.known === undefined) rule.reportFailure(error)
    evaluation.error = error
    return 'failed'
  }
}
