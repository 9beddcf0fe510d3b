import type { Permission } from '../../catalog-api/permissions.ts'
import type { Decision, RuleReference } from '../engine/decision.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { CallerRestriction } from '../restrictions/restriction.ts'
import type { PolicySet } from '../policy-set.ts'

export interface DecisionTest {
  /** Empty if the test has no name. */
  readonly name: string
  /** Name of the policy document or decision table that contains the test. */
  readonly document: string
  readonly file: string
  readonly line: number
  readonly requests: readonly AuthorizationRequest[]
  /** Whether the requests also cover everything beneath the namespace. */
  readonly beneath: boolean
  readonly expect: 'allow' | 'deny'
  /** Rule expected to decide, as its id or as policy/id; undefined if any rule may decide. */
  readonly rule: string | undefined
  /** The condition on rows that restrictions are expected to add; undefined if any may be added. */
  readonly sends: string | undefined
  /** The columns that restrictions are expected to leave, in any order; undefined if any may be left. */
  readonly columns: readonly string[] | undefined
}

interface Mismatch {
  readonly permission: Permission
  readonly decision: Decision
  /** What restrictions leave of the table; undefined for all of it. */
  readonly restriction: CallerRestriction | undefined
}

export interface TestResult {
  readonly test: DecisionTest
  /** Empty if the test passed. */
  readonly mismatches: readonly Mismatch[]
}

/**
 * Results of all tests, and the rules that decided at least one request or restrict one of a test with `sends` or `columns`, as
 * `policy/rule`.
 */
export interface TestRun {
  readonly results: readonly TestResult[]
  readonly decidingRules: ReadonlySet<string>
}

export function runTests(
  tests: readonly DecisionTest[],
  policiesFor: (test: DecisionTest) => Pick<PolicySet, 'decide' | 'decideBeneath' | 'findRestriction'>,
): TestRun {
  const decidingRules = new Set<string>()
  const results = tests.map((test) => {
    const set = policiesFor(test)
    const mismatches = test.requests.flatMap((request): readonly Mismatch[] => {
      const decision = test.beneath ? set.decideBeneath(request) : set.decide(request)
      if (decision.rule) decidingRules.add(qualifiedRuleName(decision.rule))
      const restriction = decision.allowed ? set.findRestriction(request) : undefined
      if (test.sends !== undefined || test.columns !== undefined)
        for (const { rule } of restriction?.parts ?? []) decidingRules.add(qualifiedRuleName(rule))
      return isExpected(test, decision) && isRestrictedAsExpected(test, restriction)
        ? []
        : [{ permission: request.permission, decision, restriction }]
    })
    return { test, mismatches }
  })
  return { results, decidingRules }
}

/** Unique name of a rule in a folder: `policy/rule`. */
export function qualifiedRuleName({ policy, rule }: Pick<RuleReference, 'policy' | 'rule'>): string {
  return `${policy}/${rule}`
}

/** `allow by crm/reads, sends (`region` = 'EU'), columns id, name`. */
export function describeExpectation({ expect, rule, sends, columns }: DecisionTest): string {
  return [
    `${expect}${rule === undefined ? '' : ` by ${rule}`}`,
    ...(sends === undefined ? [] : [`sends ${sends}`]),
    ...(columns === undefined ? [] : [`columns ${columns.join(', ')}`]),
  ].join(', ')
}

/** Continues the decision of a request whose test expects a condition on rows, or columns. */
export function describeSent({ sends, columns }: DecisionTest, { decision, restriction }: Mismatch): string {
  if (!decision.allowed) return ''
  const left = restriction === undefined ? 'all' : [...restriction.columns.keys()].join(', ') || 'none'
  return [
    ...(sends === undefined ? [] : [`, sends ${restriction?.rows ?? 'no condition on rows'}`]),
    ...(columns === undefined ? [] : [`, columns ${left}`]),
  ].join('')
}

function isRestrictedAsExpected(
  { sends, columns }: DecisionTest,
  restriction: CallerRestriction | undefined,
): boolean {
  if (sends !== undefined && sends !== restriction?.rows) return false
  if (columns === undefined) return true
  const expected = new Set(columns)
  return (
    restriction?.columns.size === expected.size &&
    [...restriction.columns.keys()].every((name) => expected.has(name))
  )
}

function isExpected({ expect, rule }: DecisionTest, decision: Decision): boolean {
  if (decision.allowed !== (expect === 'allow')) return false
  if (rule === undefined) return true
  return (
    decision.rule !== undefined && (rule === decision.rule.rule || rule === qualifiedRuleName(decision.rule))
  )
}
