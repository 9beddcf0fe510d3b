import type { Permission } from '../../catalog-api/permissions.ts'
import type { Decision, RuleReference } from '../engine/decision.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
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
}

interface Mismatch {
  readonly permission: Permission
  readonly decision: Decision
}

export interface TestResult {
  readonly test: DecisionTest
  /** Empty if the test passed. */
  readonly mismatches: readonly Mismatch[]
}

/** Results of all tests, and the rules that decided at least one request, as `policy/rule`. */
export interface TestRun {
  readonly results: readonly TestResult[]
  readonly decidingRules: ReadonlySet<string>
}

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

/** Unique name of a rule in a folder: `policy/rule`. */
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
