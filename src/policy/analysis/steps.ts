import type { Identifier } from '../../catalog-api/identifiers.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import { describeConditionError } from '../conditions/condition-errors.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import type { RuleReference } from '../engine/decision.ts'
import { outcomeApplies, type RestrictionStep, type RuleAbout, type Step } from '../engine/evaluate.ts'
import { namespaceKey, objectPosition } from '../engine/object-position.ts'
import { knownFromPrincipal } from '../engine/subject.ts'
import type { Implication } from '../language/policy-vocabulary.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import type { PolicySet, Question } from '../policy-set.ts'
import { printFilterAsWritten } from '../restrictions/print-filter.ts'
import { combineRestrictions, type RestrictionReport } from '../restrictions/restriction.ts'

/** Returns the namespaces that have policies in one of the sets, by key. */
export function listNamespaces(...sets: readonly PolicySet[]): ReadonlyMap<string, Identifier> {
  const documents = sets.flatMap((set) => set.documents)
  return new Map(documents.map(({ namespace }) => [namespaceKey(namespace), namespace]))
}

/** Returns the policies of the namespace itself. */
export function listOwnDocuments(set: PolicySet, namespace: Identifier): readonly PolicyDocument[] {
  return set.documentsAbove(namespace).filter((one) => one.namespace.length === namespace.length)
}

/** What becomes of the rules about a question, from the root down; rules of one namespace keep their order. */
interface Steps {
  readonly rules: readonly Step[]
  /** Those of the rules that apply or may apply. */
  readonly possible: readonly Step[]
  /** Of the table of the question, for the callers that it may be about. */
  readonly restrictions: readonly RestrictionStep[]
}

export function listSteps(set: PolicySet, question: Question): Steps {
  const found: (Step | RestrictionStep)[] = []
  set.evaluate(question, (step) => found.push(step))
  const steps = found.toSorted(
    (one, other) => one.document.namespace.length - other.document.namespace.length,
  )
  const rules = steps.filter((step) => step.outcome !== 'restricts')
  return {
    rules,
    possible: rules.filter(({ rule, outcome }) => outcome === 'open' || outcomeApplies(rule, outcome)),
    restrictions: steps.filter((step) => step.outcome === 'restricts'),
  }
}

/** A rule in a report. */
export interface ReportedRule extends RuleReference {
  /** Why it covers an operation that it does not name: `restriction` if it leaves only reading a part of its tables. */
  readonly implication?: Implication | 'restriction'
}

export function reportRule(found: LocatedRule & Partial<RuleAbout>): ReportedRule {
  const implication = found.rule.restriction === undefined ? found.implication : 'restriction'
  return { ...createRuleReference(found), ...(implication && { implication }) }
}

/** What restrictions leave of a table together. */
export interface ReportedPart {
  /** Types by the path of the column. */
  readonly columns: RestrictionReport['columns']
  /** The conditions on rows as the policies have them, all of which hold; none for all rows. */
  readonly rows: readonly string[]
  readonly rules: readonly RuleReference[]
}

/** `restrictions` has at least one. */
export function reportPart(restrictions: readonly RestrictionStep[]): ReportedPart {
  const parts = restrictions.map((step) => ({ ...step.restriction, rule: createRuleReference(step) }))
  const { columns } = combineRestrictions(parts)
  const rows = parts.flatMap(({ rows }) => (rows === undefined ? [] : [printFilterAsWritten(rows)]))
  return {
    columns: Object.fromEntries(columns),
    rows: [...new Set(rows)].toSorted(),
    rules: parts.map(({ rule }) => rule),
  }
}

/** A namespace with policies, from the root to the object. */
export interface ExplainedLevel {
  readonly namespace: Identifier
  /** Whether it does not inherit allows from above. */
  readonly isBoundary: boolean
  /** Whether it reserves the permission (`final`). */
  readonly isReserving: boolean
  readonly rules: readonly ExplainedRule[]
  readonly otherRules: number
}

/** A rule about the permission, and what became of it. */
export interface ExplainedRule extends ReportedRule, Pick<PolicyRule, 'effect' | 'subjects' | 'tables'> {
  /** Of a rule that applies, its effect. */
  readonly verdict: Exclude<Step['outcome'], 'applies'> | 'allows' | 'denies'
  readonly condition: string | undefined
  /** Why the condition failed. */
  readonly reason?: string
}

/** Returns what becomes of each rule about the request, by the namespaces of their policies. */
export function explainDecision(set: PolicySet, request: AuthorizationRequest): readonly ExplainedLevel[] {
  const { permission, kind, id, principal } = request
  const position = objectPosition(kind, id)
  const { rules } = listSteps(set, {
    permission,
    position,
    caller: knownFromPrincipal(principal),
    input: request,
  })
  const levels = groupBy(set.documentsAbove(position.namespace), ({ namespace }) => namespaceKey(namespace))
  return [...levels.values()].map((documents: readonly PolicyDocument[]) => {
    const own = rules.filter(({ document }) => documents.includes(document))
    return {
      namespace: documents[0]?.namespace ?? [],
      isBoundary: documents.some(({ inherit }) => !inherit),
      isReserving: documents.some(({ final }) => final.has(permission)),
      rules: own.map(explainRule),
      otherRules: documents.reduce((sum, { rules }) => sum + rules.length, 0) - own.length,
    }
  })
}

function explainRule(step: Step): ExplainedRule {
  const { outcome, error } = step
  const { effect, subjects, tables, condition } = step.rule
  return {
    ...reportRule(step),
    effect,
    subjects,
    tables,
    verdict: outcome === 'applies' ? (effect === 'deny' ? 'denies' : 'allows') : outcome,
    condition: condition?.text,
    ...(outcome === 'failed' && { reason: describeConditionError(error) }),
  }
}
