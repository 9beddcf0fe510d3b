import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../conditions/condition.ts'
import type { Implication } from '../language/policy-vocabulary.ts'
import type { TableRestriction } from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import type { CompiledRule, LocatedRule, RestrictingRule } from './compiled-rule.ts'
import { findFirst, judgeCondition, judgeRule, type Evaluation, type RuleOutcome } from './evaluation.ts'
import { readsPart } from './object-position.ts'
import type { PolicyNode } from './policy-node.ts'
import { matchSubjects, type SubjectMatch } from './subject.ts'

/** A rule about the permission of a question. */
export interface RuleAbout extends LocatedRule {
  /** Why it covers the permission; undefined if it names it. */
  readonly implication: Implication | undefined
}

/** A rule about the permission, in a policy of the namespace of the object or of one above, and what became of it. */
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
  readonly restriction: TableRestriction
}

/** Sees what becomes of each rule about a question, and each restriction of its table. */
export type Visit = (step: Step | RestrictionStep) => void

/** Whether the question has one answer, whatever is not known of it. */
export type ResultKind = 'allowed' | 'denied' | 'open'

/**
 * Returns the rule that decides, from the namespace (that of the object, unless another is given) up to the root: the
 * first deny, or else the first allow, unless a namespace above it reserves the permission (`final`). `visit` sees what
 * becomes of each rule, upwards. All rules are evaluated here. Without `visit` nothing is allocated, and the first deny
 * ends the evaluation.
 */
export function evaluate(
  evaluation: Evaluation,
  visit?: Visit,
  start = evaluation.node,
): CompiledRule | undefined {
  const { permission } = evaluation.input
  evaluation.openDeny = undefined
  evaluation.openAllow = undefined
  let deny: CompiledRule | undefined
  let allow: CompiledRule | undefined
  let isStopped = false
  for (let node: PolicyNode | undefined = start; node !== undefined; node = node.parent) {
    const table = node.depth === evaluation.depth ? evaluation.table : undefined
    if (visit !== undefined) visitRules(node, evaluation, table, isStopped, visit)
    const denying = node.denies && findFirst(node.denies, evaluation, table)
    if (denying !== undefined && visit === undefined) return denying
    deny ??= denying
    if (node.final.has(permission)) allow = evaluation.openAllow = undefined
    if (allow === undefined && !isStopped) allow = node.allows && findFirst(node.allows, evaluation, table)
    isStopped ||= node.stopsInheritance
  }
  return deny ?? allow
}

/** The kind of a result of `evaluate`. */
export function resultKind(
  deciding: CompiledRule | undefined,
  { openDeny, openAllow }: Evaluation,
): ResultKind {
  if (deciding?.effect === 'deny') return 'denied'
  if (deciding !== undefined && openDeny === undefined) return 'allowed'
  return deciding === undefined && openAllow === undefined ? 'denied' : 'open'
}

function visitRules(
  node: PolicyNode,
  evaluation: Evaluation,
  table: string | undefined,
  isStopped: boolean,
  visit: Visit,
): void {
  const { permission } = evaluation.input
  const obstacle = isStopped ? 'stopped' : isReservedAbove(node, permission) ? 'reserved' : undefined
  for (const compiled of node.rules) {
    if (!compiled.permissions.has(permission)) continue
    const { document, rule, effect, condition } = compiled
    const match = matchCaller(compiled, evaluation)
    const blocked = match === false ? 'other-caller' : effect === 'allow' ? obstacle : undefined
    const outcome = blocked ?? judgeRule(compiled, evaluation, table)
    const isOpen =
      outcome === 'open' && condition && judgeCondition(compiled, condition, evaluation) === 'open'
    visit({
      document,
      rule,
      implication: rule.implied.get(permission),
      outcome,
      match,
      condition: isOpen ? condition : undefined,
      error: outcome === 'failed' ? evaluation.error : undefined,
    })
  }
  if (node !== evaluation.node || !readsPart(permission)) return
  for (const compiled of listRestricting(evaluation)) {
    visit({
      document: compiled.document,
      rule: compiled.rule,
      implication: undefined,
      outcome: 'restricts',
      match: matchCaller(compiled, evaluation),
      condition: undefined,
      restriction: resolveRestriction(compiled.rule.restriction, evaluation.input.tags),
    })
  }
}

/** Returns the restrictions of the table that name the caller, or may. */
export function listRestricting(evaluation: Evaluation): readonly RestrictingRule[] {
  const { depth, restrictions } = evaluation.node
  if (restrictions === undefined || depth !== evaluation.depth) return []
  return restrictions.filter((rule) => {
    const outcome = matchCaller(rule, evaluation) === false || judgeRule(rule, evaluation, evaluation.table)
    return outcome === 'applies' || outcome === 'open'
  })
}

function matchCaller({ rule, subjects }: CompiledRule, { caller }: Evaluation): SubjectMatch {
  if (caller.known !== undefined) return matchSubjects(rule.subjects, caller.known)
  return subjects.some((number) => caller.subjects.has(number))
}

function isReservedAbove({ parent }: PolicyNode, permission: Permission): boolean {
  for (let node = parent; node !== undefined; node = node.parent) if (node.final.has(permission)) return true
  return false
}
