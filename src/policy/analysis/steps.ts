import { createNameMatcher, sampleName } from '../conditions/name-pattern.ts'
import type { Identifier } from '../../catalog-api/index.ts'
import { createRuleReference, type LocatedRule } from '../engine/compiled-rule.ts'
import { qualifiedRuleName, type RuleReference } from '../engine/decision.ts'
import { outcomeApplies, type RestrictionStep, type RuleAbout, type Step } from '../engine/evaluate.ts'
import { namespaceKey, type ObjectPosition } from '../engine/object-position.ts'
import type { Implication } from '../language/policy-vocabulary.ts'
import type { NamedSubjects, PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import type { PolicySet, PartialRequest } from '../policy-set.ts'
import { combineColumns } from '../restrictions/restriction.ts'

/** Returns the namespaces that have policies in one of the sets, by key. */
export function listNamespaces(...sets: readonly PolicySet[]): ReadonlyMap<string, Identifier> {
  const documents = sets.flatMap((set) => set.documents)
  return new Map(documents.map(({ namespace }) => [namespaceKey(namespace), namespace]))
}

export function listOwnDocuments(set: PolicySet, namespace: Identifier): readonly PolicyDocument[] {
  return set.documentsAbove(namespace).filter((one) => one.namespace.length === namespace.length)
}

export function listRules(documents: readonly PolicyDocument[]): readonly LocatedRule[] {
  return documents.flatMap((document) => document.rules.map((rule) => ({ document, rule })))
}

/**
 * Returns the result of a request, and the outcomes of the rules about it, from the root down; rules of one namespace
 * keep their order.
 */
export function listSteps(set: PolicySet, request: PartialRequest) {
  const found: (Step | RestrictionStep)[] = []
  const result = set.evaluate(request, (step) => found.push(step))
  const steps = found.toSorted(
    (one, other) => one.document.namespace.length - other.document.namespace.length,
  )
  const rules = steps.filter((step) => step.outcome !== 'restricts')
  return {
    ...result,
    rules,
    /** Those of the rules that apply or may apply. */
    possible: rules.filter(({ rule, outcome }) => outcome === 'open' || outcomeApplies(rule, outcome)),
    /** Of the table of the request, for the callers that it may be about. */
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

export type ReportedPart = ReturnType<typeof reportPart>

/** `restrictions` has at least one. */
export function reportPart(restrictions: readonly RestrictionStep[]) {
  const parts = restrictions.map(({ restriction }) => restriction)
  const rows = parts.flatMap(({ rows }) => rows?.shown ?? [])
  return {
    /** Types by the path of the column. */
    columns: Object.fromEntries(combineColumns(parts)),
    /** The conditions on rows as the policies have them, which must all hold; none for all rows. */
    rows: [...new Set(rows)].toSorted(),
    rules: parts.map(({ rule }) => rule),
  }
}

/** Returns positions that represent all in a namespace: itself with all beneath, and its tables. */
export function listPositionClasses(
  sets: readonly PolicySet[],
  namespace: Identifier,
): readonly ObjectPosition[] {
  return [undefined, ...listNameClasses(sets, namespace)].map((table) => ({ namespace, table }))
}

/**
 * Returns names that represent the tables of a namespace: the declared tables, one name for each pattern of its rules, and
 * one for each overlap of a pattern of an allow and one of a deny. In each, `*` is a letter that no pattern has, so that
 * another pattern matches the name only if it matches every name of its kind: of all names that one rule allows, or that two
 * decide about, it is the one about which the fewest others decide.
 */
function listNameClasses(sets: readonly PolicySet[], namespace: Identifier): readonly string[] {
  const rules = sets.flatMap((set) => listOwnDocuments(set, namespace).flatMap((one) => one.rules))
  const patternsOf = (effect: PolicyRule['effect']): ReadonlySet<string> =>
    new Set(rules.flatMap((rule) => (rule.effect === effect ? (rule.tables ?? []) : [])))
  const [allows, denies] = [patternsOf('allow'), patternsOf('deny')]
  const own = [...new Set([...allows, ...denies])]
  const overlaps = [...allows].flatMap((one) => [...denies].flatMap((other) => overlapPatterns(one, other)))
  const letter = unusedLetter(own.join(''))
  // Names that match the same patterns are decided alike.
  const matchers = own.map(createNameMatcher)
  const names = new Map<string, string>()
  for (const pattern of [...own, ...overlaps]) {
    const name = pattern.replaceAll('*', letter)
    const matching = matchers.map((matches) => (matches(name) ? 1 : 0)).join('')
    if (!names.has(matching)) names.set(matching, name)
  }
  return [...new Set([...names.values(), ...sets.flatMap((set) => set.listTaggedTables(namespace))])]
}

/** Returns patterns of names that both match, with their inner parts in either order; none if no name matches both. */
export function overlapPatterns(one: string, other: string): readonly string[] {
  const [[first = '', ...inner], [otherFirst = '', ...otherInner]] = [one.split('*'), other.split('*')]
  const [last = '', otherLast = ''] = [inner.pop(), otherInner.pop()]
  const join = (...parts: readonly string[]): string =>
    [longer(first, otherFirst), ...parts, longer(last, otherLast)].join('*')
  const candidates =
    one.includes('*') && other.includes('*')
      ? [join(...inner, ...otherInner), join(...otherInner, ...inner)]
      : [one, other]
  return candidates.filter((pattern) =>
    [one, other].every((whole) => createNameMatcher(whole)(sampleName(pattern))),
  )
}

function longer(one: string, other: string): string {
  return one.length < other.length ? other : one
}

/** All letters are valid in names. */
function unusedLetter(text: string): string {
  for (let code = 'x'.codePointAt(0) ?? 0; ; code++) {
    const letter = String.fromCodePoint(code)
    if (/\p{L}/u.test(letter) && !text.includes(letter)) return letter
  }
}
