import type { Permission } from '../../catalog-api/permissions.ts'
import type { Decision, RuleReference } from '../engine/decision.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { PolicySet } from '../policy-set.ts'

/** What somebody expects the policies to decide. */
export interface DecisionTest {
  /** What it shows; empty where its author did not say. */
  readonly name: string
  /** The policy or the decision table that it stands in. */
  readonly document: string
  readonly file: string
  readonly line: number
  /** One for each operation that is named. */
  readonly requests: readonly AuthorizationRequest[]
  /** Whether each is asked about everything beneath the namespace, too. */
  readonly beneath: boolean
  readonly expect: 'allow' | 'deny'
  /** The rule that is expected to decide: its id, or policy/id; undefined where any may. */
  readonly rule: string | undefined
}

/** A decision that is not the expected one. */
interface Mismatch {
  readonly permission: Permission
  readonly decision: Decision
}

/** What became of a test. */
export interface TestResult {
  readonly test: DecisionTest
  /** Empty where it passed. */
  readonly mismatches: readonly Mismatch[]
}

/** What became of all tests, and the rules that decided at least one question, as `policy/rule`. */
export interface TestRun {
  readonly results: readonly TestResult[]
  readonly decidingRules: ReadonlySet<string>
}

/** Asks the policies that are right for a test what it asks. */
export function runTests(
  tests: readonly DecisionTest[],
  policiesFor: (test: DecisionTest) => Pick<PolicySet, 'decide' | 'decideBeneath'>,
): TestRun {
  const decidingRules = new Set<string>()
  const results = tests.map((test) => {
    const set = policiesFor(test)
    const mismatches = test.requests.flatMap((request): readonly Mismatch[] => {
      const decision = test.beneath ? set.decideBeneath(request) : set.decide(request)
      if (decision.rule) decidingRules.add(qualifiedRuleName(decision.rule))
      return isExpected(test, decision) ? [] : [{ permission: request.permission, decision }]
    })
    return { test, mismatches }
  })
  return { results, decidingRules }
}

/** The name of a rule among all policies of a folder. */
export function qualifiedRuleName({ policy, rule }: Pick<RuleReference, 'policy' | 'rule'>): string {
  return `${policy}/${rule}`
}

function isExpected({ expect, rule }: DecisionTest, decision: Decision): boolean {
  if (decision.allowed !== (expect === 'allow')) return false
  if (rule === undefined) return true
  return (
    decision.rule !== undefined && (rule === decision.rule.rule || rule === qualifiedRuleName(decision.rule))
  )
}
