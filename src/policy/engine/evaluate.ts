import type { Permission } from '../../catalog-api/index.ts'
import {
  type AuthorizationRequest,
  type ConditionInput,
  MissingFactError,
} from '../conditions/authorization-request.ts'
import type { Condition, Evaluate } from '../conditions/condition.ts'
import type { Implication } from '../language/policy-vocabulary.ts'
import type { NamedRestriction } from '../restrictions/restriction.ts'
import { resolveRestriction, type ObjectTags } from '../tags/object-tags.ts'
import { createRuleReference, type CompiledRule, type LocatedRule } from './compiled-rule.ts'
import { readsPart } from './object-position.ts'
import type { PolicyNode, RuleIndex, TreePosition } from './policy-tree.ts'
import { matchSubjects, type KnownCaller, type SubjectMatch } from './subject.ts'

/** Any table in the namespace of the rules, including tables that do not exist yet. */
export const anyTable = Symbol('any table')

/** Directly in the namespace of the rules; undefined for the namespace itself and deeper objects. */
type TableSelector = string | typeof anyTable | undefined

/** Result of a condition: `open` if it depends on a pending part of the input. `failed` makes a deny apply and an allow not. */
export type ConditionResult = 'true' | 'false' | 'failed' | 'open'

export interface KnownConditions {
  get(condition: Condition): ConditionResult | undefined
  /** If defined, called with each other result that is the same for all objects, unless the condition failed. */
  set?(condition: Condition, result: ConditionResult): void
}

/** The input of an evaluation, and its results besides the deciding rule. */
export interface Evaluation {
  readonly input: ConditionInput & Pick<AuthorizationRequest, 'permission'> & { readonly tags: ObjectTags }
  /** The numbers of its subjects; undefined if it is not known as a whole. */
  readonly caller: ReadonlySet<number> | undefined
  /** Of an analysis: the known parts of the caller. */
  readonly known: KnownCaller | undefined
  readonly position: TreePosition
  readonly knownConditions: KnownConditions | undefined
  /** Whether the result may be different for another object with the same node and depth. */
  dependsOnObject: boolean
  /** Rules that would decide for some values of the unknown input. */
  openDeny: CompiledRule | undefined
  openAllow: CompiledRule | undefined
  /** Why the last condition failed that did. */
  error: unknown
}

export function createEvaluation(
  { principal, permission, kind, id, request, operation }: Omit<Evaluation['input'], 'tags'>,
  caller: ReadonlySet<number> | undefined,
  position: TreePosition,
  knownConditions?: KnownConditions,
  known?: KnownCaller,
): Evaluation {
  return {
    // A spread of the input would cost ten times as much as the decision.
    input: { principal, permission, kind, id, request, operation, tags: position.tags },
    caller,
    known,
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
  if (caller === undefined) return earliest(all, evaluation, table, undefined)
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

function earliest(
  rules: readonly CompiledRule[] = [],
  evaluation: Evaluation,
  table: TableSelector,
  first: CompiledRule | undefined,
): CompiledRule | undefined {
  for (const rule of rules) {
    if (first !== undefined && first.order < rule.order) return first
    if (!rule.permissions.has(evaluation.input.permission)) continue
    const outcome = evaluateRule(rule, evaluation, table)
    if (outcomeApplies(rule, outcome)) return rule
    if (outcome !== 'open') continue
    if (rule.effect === 'deny') evaluation.openDeny ??= rule
    else evaluation.openAllow ??= rule
  }
  return first
}

/** The outcome of a rule about the permission: it applies, it may apply (`open`), or the reason why it does not. */
type RuleOutcome = 'applies' | 'open' | 'other-caller' | 'other-table' | 'false' | 'failed'

/** Whether a rule names the caller. In decisions, rules are found by the numbers of callers, so only exceptions matter. */
function matchCaller({ rule, except }: CompiledRule, { caller, known }: Evaluation): SubjectMatch {
  if (known !== undefined) return matchSubjects(rule.subjects, known)
  return except.length === 0 || !except.some((number) => caller?.has(number))
}

function evaluateRule(
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
  const result = getConditionResult(rule, evaluation)
  if (result === 'false' || result === 'open') return result
  if (result === 'failed' && (rule.effect === 'allow' || match === true)) return result
  return match === true ? 'applies' : 'open'
}

/** A deny applies if its condition fails. */
export function outcomeApplies({ effect }: Pick<CompiledRule, 'effect'>, outcome: string): boolean {
  return outcome === 'applies' || (outcome === 'failed' && effect === 'deny')
}

function getConditionResult(rule: CompiledRule, evaluation: Evaluation): ConditionResult {
  const { condition, evaluate } = rule
  if (condition === undefined || evaluate === undefined) return 'true'
  const known = evaluation.knownConditions?.get(condition)
  if (known !== undefined) return known
  const result = evaluateCondition(evaluate, rule, evaluation)
  if (condition.readsId || condition.tags.length > 0) evaluation.dependsOnObject = true
  else if (result !== 'failed') evaluation.knownConditions?.set?.(condition, result)
  return result
}

function evaluateCondition(evaluate: Evaluate, rule: CompiledRule, evaluation: Evaluation): ConditionResult {
  try {
    return evaluate(evaluation.input) ? 'true' : 'false'
  } catch (error) {
    const isMissing = error instanceof MissingFactError
    if (isMissing && error.isPending) return 'open'
    // Analyses report no failures.
    if (!isMissing && evaluation.known === undefined) rule.reportFailure(error)
    evaluation.error = error
    return 'failed'
  }
}

/** A rule about the permission of a request. */
export interface RuleAbout extends LocatedRule {
  /** Why it covers the permission; undefined if it names it. */
  readonly implication: Implication | undefined
}

/** A rule about the permission, in a policy of the namespace of the object or of one above, with its outcome. */
export interface Step extends RuleAbout {
  /** `stopped`: an allow that a namespace beneath does not inherit. `reserved`: one of a permission that is final above. */
  readonly outcome: RuleOutcome | 'stopped' | 'reserved'
  /** If it is open: whether the rule names the caller, and the condition if its result is open. */
  readonly match: SubjectMatch
  readonly condition: Condition | undefined
  /** If the condition failed: why. */
  readonly error: unknown
}

/** A restriction of the table that names the caller, or may: it leaves a part, and allows nothing by itself. */
export interface RestrictionStep extends RuleAbout {
  readonly outcome: 'restricts'
  readonly match: SubjectMatch
  /** Restrictions have none. */
  readonly condition: undefined
  readonly restriction: NamedRestriction
}

export type Visit = (step: Step | RestrictionStep) => void

/** `open`: the decision depends on unknown input. */
export type ResultKind = 'allowed' | 'denied' | 'open'

/**
 * Returns the rule that decides, from the namespace (that of the object, unless another is given) up to the root: the
 * first deny, or else the first allow, unless a namespace above it reserves the permission (`final`). All rules are
 * evaluated here. Nothing is allocated, and the first deny ends the evaluation.
 */
export function evaluate(evaluation: Evaluation, start = evaluation.position.node): CompiledRule | undefined {
  const { permission } = evaluation.input
  evaluation.openDeny = undefined
  evaluation.openAllow = undefined
  let allow: CompiledRule | undefined
  let isStopped = false
  for (let node: PolicyNode | undefined = start; node !== undefined; node = node.parent) {
    const table = tableIn(node, evaluation)
    const deny = node.denies && findFirst(node.denies, evaluation, table)
    if (deny !== undefined) return deny
    if (node.final.has(permission)) allow = evaluation.openAllow = undefined
    if (allow === undefined && !isStopped) allow = node.allows && findFirst(node.allows, evaluation, table)
    isStopped ||= node.stopsInheritance
  }
  return allow
}

/** The name of a table that is directly in the namespace. */
function tableIn(node: PolicyNode, { position }: Evaluation): string | undefined {
  return node.depth === position.depth ? position.table : undefined
}

export function resultKind(
  deciding: CompiledRule | undefined,
  { openDeny, openAllow }: Evaluation,
): ResultKind {
  if (deciding?.effect === 'deny' || (deciding ?? openAllow) === undefined) return 'denied'
  return deciding !== undefined && openDeny === undefined ? 'allowed' : 'open'
}

/** Visits each rule about the request with its outcome, upwards, and each restriction of its table. */
export function visitSteps(evaluation: Evaluation, visit: Visit): void {
  const { permission, tags } = evaluation.input
  let isStopped = false
  for (let node: PolicyNode | undefined = evaluation.position.node; node !== undefined; node = node.parent) {
    const obstacle = isStopped ? 'stopped' : isReservedAbove(node, permission) ? 'reserved' : undefined
    for (const rule of node.rules) {
      if (!rule.permissions.has(permission)) continue
      const { effect, condition } = rule
      const match = matchCaller(rule, evaluation)
      const own = evaluateRule(rule, evaluation, tableIn(node, evaluation), match)
      const outcome = own === 'other-caller' || effect === 'deny' ? own : (obstacle ?? own)
      const isOpen = outcome === 'open' && condition && getConditionResult(rule, evaluation) === 'open'
      visit({
        ...describeRule(rule, permission),
        outcome,
        match,
        condition: isOpen ? condition : undefined,
        error: outcome === 'failed' ? evaluation.error : undefined,
      })
    }
    isStopped ||= node.stopsInheritance
  }
  if (!readsPart(permission)) return
  for (const rule of listRestrictions(evaluation)) {
    const match = matchCaller(rule, evaluation)
    for (const restriction of nameRestriction(rule, tags))
      visit({
        ...describeRule(rule, permission),
        outcome: 'restricts',
        match,
        condition: undefined,
        restriction,
      })
  }
}

export function describeRule({ document, rule }: CompiledRule, permission: Permission): RuleAbout {
  return { document, rule, implication: rule.implied.get(permission) }
}

/** Returns the restrictions of the table that name the caller, or may. */
export function listRestrictions(evaluation: Evaluation): readonly CompiledRule[] {
  const { caller, known, position } = evaluation
  if (position.node.depth !== position.depth) return []
  return position.node.restrictions.filter((rule) => {
    // Other rules of a decision are found by the numbers of its caller.
    if (known === undefined && !rule.subjects.some((number) => caller?.has(number))) return false
    const outcome = evaluateRule(rule, evaluation, position.table)
    return outcome === 'applies' || outcome === 'open'
  })
}

/** Resolves a restriction for a table with these tags; empty for another rule. */
export function nameRestriction(located: LocatedRule, tags: ObjectTags): readonly NamedRestriction[] {
  const { restriction } = located.rule
  return restriction === undefined
    ? []
    : [{ ...resolveRestriction(restriction, tags), rule: createRuleReference(located) }]
}

function isReservedAbove({ parent }: PolicyNode, permission: Permission): boolean {
  for (let node = parent; node !== undefined; node = node.parent) if (node.final.has(permission)) return true
  return false
}
