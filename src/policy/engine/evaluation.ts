import type { AuthorizationRequest, ConditionInput } from '../conditions/authorization-request.ts'
import type { Condition } from '../conditions/condition.ts'
import { MissingFactError } from '../conditions/fact.ts'
import type { ObjectTags } from '../tags/object-tags.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { RuleIndex, TreePosition } from './policy-node.ts'
import { matchSubjects, type KnownCaller, type SubjectMatch } from './subject.ts'

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

/** The caller of a decision: the numbers of its subjects. That of an analysis: what is known of it. */
type EvaluatedCaller = ReadonlySet<number> | KnownCaller

/** What is evaluated, and what the evaluation found besides the deciding rule. */
export interface Evaluation {
  readonly input: ConditionInput & Pick<AuthorizationRequest, 'permission'> & { readonly tags: ObjectTags }
  readonly caller: EvaluatedCaller
  readonly position: TreePosition
  readonly knownConditions: KnownConditions | undefined
  /** Whether the result may be different for another object with the same node and depth. */
  dependsOnObject: boolean
  /** Rules that would decide if what is not known of the input were so. */
  openDeny: CompiledRule | undefined
  openAllow: CompiledRule | undefined
  /** Why the last condition failed that did. */
  error: unknown
}

export function createEvaluation(
  input: Omit<Evaluation['input'], 'tags'>,
  caller: EvaluatedCaller,
  position: TreePosition,
  knownConditions?: KnownConditions,
): Evaluation {
  return {
    input: { ...input, tags: position.tags },
    caller,
    position,
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
  const { caller, input } = evaluation
  if (!permissions.has(input.permission)) return undefined
  if (isKnownCaller(caller)) return earliest(all, evaluation, table, undefined)
  let first: CompiledRule | undefined
  // A token may have hundreds of groups and a namespace hundreds of subjects: iterate over the smaller set.
  if (caller.size < bySubject.size) {
    for (const number of caller) first = earliest(bySubject.get(number), evaluation, table, first)
  } else {
    for (const [number, rules] of bySubject) {
      if (caller.has(number)) first = earliest(rules, evaluation, table, first)
    }
  }
  return first
}

function isKnownCaller(caller: EvaluatedCaller): caller is KnownCaller {
  return 'isAnonymous' in caller
}

function earliest(
  rules: readonly CompiledRule[] = [],
  evaluation: Evaluation,
  table: TableSelector,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
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

/** Whether a rule names the caller. Rules are found by the numbers of callers, so only the exceptions of these matter. */
export function matchCaller({ rule, except }: CompiledRule, { caller }: Evaluation): SubjectMatch {
  if (isKnownCaller(caller)) return matchSubjects(rule.subjects, caller)
  return except.length === 0 || !except.some((number) => caller.has(number))
}

/** Judges a rule that covers the permission. */
export function judgeRule(
  rule: CompiledRule,
  evaluation: Evaluation,
  table: TableSelector,
  match = matchCaller(rule, evaluation),
): RuleOutcome {
  if (match === false) return 'other-caller'
  if (rule.tables !== undefined) {
    if (table === undefined) return 'other-table'
    evaluation.dependsOnObject = true
    if (table !== anyTable && !rule.tables.some((matches) => matches(table))) return 'other-table'
  }
  const result = rule.condition === undefined ? 'true' : judgeCondition(rule.condition, rule, evaluation)
  if (result === 'false' || result === 'open') return result
  if (result === 'failed' && (rule.effect === 'allow' || match === true)) return result
  return match === true ? 'applies' : 'open'
}

/** A deny applies if its condition fails. */
export function outcomeApplies({ effect }: Pick<CompiledRule, 'effect'>, outcome: string): boolean {
  return outcome === 'applies' || (outcome === 'failed' && effect === 'deny')
}

export function judgeCondition(
  condition: Condition,
  rule: CompiledRule,
  evaluation: Evaluation,
): ConditionResult {
  const known = evaluation.knownConditions?.get(condition)
  if (known !== undefined) return known
  const result = evaluateCondition(condition, rule, evaluation)
  if (condition.readsId || condition.tags.length > 0) evaluation.dependsOnObject = true
  else if (result !== 'failed') evaluation.knownConditions?.set?.(condition, result)
  return result
}

function evaluateCondition(
  condition: Condition,
  rule: CompiledRule,
  evaluation: Evaluation,
): ConditionResult {
  try {
    return condition.evaluate(evaluation.input) ? 'true' : 'false'
  } catch (error) {
    const isMissing = error instanceof MissingFactError
    if (isMissing && error.isPending) return 'open'
    // Analyses report no failures.
    if (!isMissing && !isKnownCaller(evaluation.caller)) rule.reportFailure(error)
    evaluation.error = error
    return 'failed'
  }
}
