import type { Permission } from '../../catalog-api/permissions.ts'
import type { RuleReference } from '../engine/decision.ts'
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
  /** The condition on rows that restrictions are expected to add; undefined if any may be added. */
  readonly sends: string | undefined
  /** The columns that restrictions are expected to leave, in any order; undefined if any may be left. */
  readonly columns: readonly string[] | undefined
}

/** A test and what became of it. */
export interface TestResult extends Pick<DecisionTest, 'name' | 'document' | 'file' | 'line'> {
  readonly passed: boolean
  /** Number of requests that were decided. */
  readonly decisions: number
  readonly expected: DecisionTest['expect']
  readonly expectedRule?: string
  readonly expectedSends?: string
  readonly expectedColumns?: readonly string[]
  /** Empty if the test passed. */
  readonly disagreements: readonly Disagreement[]
}

interface Disagreement {
  readonly operation: Permission
  readonly decided: 'allow' | 'deny'
  readonly rule?: RuleReference
  /** The condition on rows that restrictions add, and the columns that they leave. */
  readonly sends?: string
  readonly columns?: readonly string[]
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
    const { name, document, file, line, requests, expect, rule, sends, columns } = test
    const set = policiesFor(test)
    const disagreements = requests.flatMap((request): readonly Disagreement[] => {
      const decision = test.beneath ? set.decideBeneath(request) : set.decide(request)
      if (decision.rule) decidingRules.add(qualifiedRuleName(decision.rule))
      const restriction = decision.allowed ? set.findRestriction(request) : undefined
      if (sends !== undefined || columns !== undefined)
        for (const part of restriction?.parts ?? []) decidingRules.add(qualifiedRuleName(part.rule))
      const decided: Disagreement = {
        operation: request.permission,
        decided: decision.allowed ? 'allow' : 'deny',
        ...(decision.rule && { rule: decision.rule }),
        ...(restriction?.rows !== undefined && { sends: restriction.rows }),
        ...(restriction && { columns: [...restriction.columns.keys()] }),
      }
      return isExpected(test, decided) ? [] : [decided]
    })
    return {
      name,
      document,
      file,
      line,
      passed: disagreements.length === 0,
      decisions: requests.length,
      expected: expect,
      ...(rule !== undefined && { expectedRule: rule }),
      ...(sends !== undefined && { expectedSends: sends }),
      ...(columns !== undefined && { expectedColumns: columns }),
      disagreements,
    }
  })
  return { results, decidingRules }
}

function isExpected({ expect, rule, sends, columns }: DecisionTest, decided: Disagreement): boolean {
  if (decided.decided !== expect) return false
  if (rule !== undefined) {
    const by = decided.rule
    if (by === undefined || (rule !== by.rule && rule !== qualifiedRuleName(by))) return false
  }
  if (sends !== undefined && sends !== decided.sends) return false
  return (
    columns === undefined ||
    decided.columns?.toSorted().join('\n') === [...new Set(columns)].toSorted().join('\n')
  )
}

/** Unique name of a rule in a folder: `policy/rule`. */
export function qualifiedRuleName({ policy, rule }: Pick<RuleReference, 'policy' | 'rule'>): string {
  return `${policy}/${rule}`
}
