import type { Identifier } from '../../catalog-api/index.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import { qualifiedRuleName, type RuleReference } from '../engine/decision.ts'
import { outcomeApplies, type RestrictionStep, type RuleAbout, type Step } from '../engine/evaluate.ts'
import { namespaceKey } from '../engine/object-position.ts'
import type { Implication } from '../language/policy-vocabulary.ts'
import type { NamedSubjects, PolicyDocument } from '../language/policy-document.ts'
import type { PolicySet, Question } from '../policy-set.ts'
import { combineColumns } from '../restrictions/restriction.ts'

/** Returns the namespaces that have policies in one of the sets, by key. */
export function listNamespaces(...sets: readonly PolicySet[]): ReadonlyMap<string, Identifier> {
  const documents = sets.flatMap((set) => set.documents)
  return new Map(documents.map(({ namespace }) => [namespaceKey(namespace), namespace]))
}

/** Returns the policies of the namespace itself. */
export function listOwnDocuments(set: PolicySet, namespace: Identifier): readonly PolicyDocument[] {
  return set.documentsAbove(namespace).filter((one) => one.namespace.length === namespace.length)
}

export function listRules(documents: readonly PolicyDocument[]): readonly LocatedRule[] {
  return documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
}

/** The answer to a question, and what becomes of the rules about it, from the root down; rules of one namespace keep their order. */
interface Steps extends ReturnType<PolicySet['evaluate']> {
  readonly rules: readonly Step[]
  /** Those of the rules that apply or may apply. */
  readonly possible: readonly Step[]
  /** Of the table of the question, for the callers that it may be about. */
  readonly restrictions: readonly RestrictionStep[]
}

export function listSteps(set: PolicySet, question: Question): Steps {
  const found: (Step | RestrictionStep)[] = []
  const result = set.evaluate(question, (step) => found.push(step))
  const steps = found.toSorted(
    (one, other) => one.document.namespace.length - other.document.namespace.length,
  )
  const rules = steps.filter((step) => step.outcome !== 'restricts')
  return {
    ...result,
    rules,
    possible: rules.filter(({ rule, outcome }) => outcome === 'open' || outcomeApplies(rule, outcome)),
    restrictions: steps.filter((step) => step.outcome === 'restricts'),
  }
}

/** The names, also in exceptions, on which it depends whether the rules name the caller. */
export function listOpenNames(rules: readonly Pick<Step, 'match'>[]): NamedSubjects {
  const lists = rules.flatMap(({ match }) =>
    typeof match === 'boolean' ? [] : [match, ...(match.except ? [match.except] : [])],
  )
  const all = (kind: keyof NamedSubjects): readonly string[] => [
    ...new Set(lists.flatMap((names) => names[kind])),
  ]
  return { users: all('users'), groups: all('groups'), keys: all('keys') }
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

const implications: Readonly<Record<NonNullable<ReportedRule['implication']>, string>> = {
  name: 'denies every operation that removes the name',
  move: 'denies what moves its tables',
  restriction: 'leaves only reading a part of its tables',
}

/** `team-sales/owner-drops (team.yaml:18)`, with the end of the rule if it has one, and why it covers an operation that it does not name. */
export function formatRule(rule: ReportedRule): string {
  const { file, line, until, implication } = rule
  const end = until === undefined ? '' : `, until ${until}`
  const reason = implication === undefined ? '' : `, which ${implications[implication]}`
  return `${qualifiedRuleName(rule)} (${file}:${line})${end}${reason}`
}

/** What restrictions leave of a table together. */
export type ReportedPart = ReturnType<typeof reportPart>

/** `restrictions` has at least one. */
export function reportPart(restrictions: readonly RestrictionStep[]) {
  const parts = restrictions.map(({ restriction }) => restriction)
  const rows = parts.flatMap(({ rows }) => rows?.shown ?? [])
  return {
    /** Types by the path of the column. */
    columns: Object.fromEntries(combineColumns(parts)),
    /** The conditions on rows as the policies have them, all of which hold; none for all rows. */
    rows: [...new Set(rows)].toSorted(),
    rules: parts.map(({ rule }) => rule),
  }
}
