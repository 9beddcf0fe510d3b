import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../conditions/condition.ts'
import type { Implication } from '../language/policy-vocabulary.ts'
import type { TableRestriction } from '../restrictions/restriction.ts'
import { resolveRestriction } from '../tags/object-tags.ts'
import type { CompiledRule, LocatedRule } from './compiled-rule.ts'
import {
  findFirst,
  judgeCondition,
  judgeRule,
  matchCaller,
  type Evaluation,
  type RuleOutcome,
} from './evaluation.ts'
import { readsPart } from './object-position.ts'
import type { PolicyNode } from './policy-node.ts'
import type { SubjectMatch } from './subject.ts'

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

/** The kind of a result of `evaluate`. */
export function resultKind(
  deciding: CompiledRule | undefined,
  { openDeny, openAllow }: Evaluation,
): ResultKind {
  if (deciding?.effect === 'deny' || (deciding ?? openAllow) === undefined) return 'denied'
  return deciding !== undefined && openDeny === undefined ? 'allowed' : 'open'
}

/** Shows what becomes of each rule about the question, upwards, and of each restriction of its table. */
export function visitSteps(evaluation: Evaluation, visit: Visit): void {
  const { permission, tags } = evaluation.input
  let isStopped = false
  for (let node: PolicyNode | undefined = evaluation.position.node; node !== undefined; node = node.parent) {
    const obstacle = isStopped ? 'stopped' : isReservedAbove(node, permission) ? 'reserved' : undefined
    for (const rule of node.rules) {
      if (!rule.permissions.has(permission)) continue
      const { effect, condition } = rule
      const match = matchCaller(rule, evaluation)
      const judged = judgeRule(rule, evaluation, tableIn(node, evaluation), match)
      const outcome = judged === 'other-caller' || effect === 'deny' ? judged : (obstacle ?? judged)
      const isOpen = outcome === 'open' && condition && judgeCondition(condition, rule, evaluation) === 'open'
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
  for (const { compiled, restriction } of listRestrictions(evaluation)) {
    visit({
      ...describeRule(compiled, permission),
      outcome: 'restricts',
      match: matchCaller(compiled, evaluation),
      condition: undefined,
      restriction: resolveRestriction(restriction, tags),
    })
  }
}

export function describeRule({ document, rule }: CompiledRule, permission: Permission): RuleAbout {
  return { document, rule, implication: rule.implied.get(permission) }
}

/** Returns the restrictions of the table that name the caller, or may, with their rules. The caller must be that of an analysis. */
export function listRestrictions(evaluation: Evaluation) {
  const { node, depth, table } = evaluation.position
  if (node.depth !== depth) return []
  return (node.denies?.all ?? []).flatMap((compiled) => {
    const { restriction } = compiled.rule
    if (restriction === undefined) return []
    const outcome = judgeRule(compiled, evaluation, table)
    return outcome === 'applies' || outcome === 'open' ? [{ compiled, restriction }] : []
  })
}

function isReservedAbove({ parent }: PolicyNode, permission: Permission): boolean {
  for (let node = parent; node !== undefined; node = node.parent) if (node.final.has(permission)) return true
  return false
}
