import type { Permission } from '../interface/permissions.ts'
import type { Decision, RuleReference } from './decision.ts'
import type { Question } from './question.ts'
import type { PolicySet } from './trie.ts'

/** What somebody expects the policies to decide. */
export interface DecisionTest {
  /** What it shows; empty where its author did not say. */
  readonly name: string
  /** The policy or the decision table that it stands in. */
  readonly document: string
  readonly file: string
  readonly line: number
  /** One for each operation that is named. */
  readonly questions: readonly Question[]
  /** Whether each is asked about everything beneath the namespace, too. */
  readonly beneath: boolean
  readonly expect: 'allow' | 'deny'
  /** The rule that is expected to decide: its id, or policy/id; undefined where any may. */
  readonly rule: string | undefined
}

/** A decision that is not the expected one. */
interface Disagreement {
  readonly permission: Permission
  readonly decision: Decision
}

/** What became of a test. */
export interface TestOutcome {
  readonly test: DecisionTest
  /** Empty where it passed. */
  readonly disagreements: readonly Disagreement[]
}

/** What became of all tests, and the rules that decided at least one question, as `policy/rule`. */
export interface TestRun {
  readonly outcomes: readonly TestOutcome[]
  readonly deciding: ReadonlySet<string>
}

/** Asks the policies that are right for a test what it asks. */
export function runTests(
  tests: readonly DecisionTest[],
  policiesFor: (test: DecisionTest) => Pick<PolicySet, 'decide' | 'decideBeneath'>,
): TestRun {
  const deciding = new Set<string>()
  const outcomes = tests.map((test) => {
    const set = policiesFor(test)
    const disagreements = test.questions.flatMap((question): readonly Disagreement[] => {
      const decision = test.beneath ? set.decideBeneath(question) : set.decide(question)
      if (decision.rule) deciding.add(fullName(decision.rule))
      return isExpected(test, decision) ? [] : [{ permission: question.permission, decision }]
    })
    return { test, disagreements }
  })
  return { outcomes, deciding }
}

/** The name of a rule among all policies of a folder. */
export function fullName({ policy, rule }: Pick<RuleReference, 'policy' | 'rule'>): string {
  return `${policy}/${rule}`
}

function isExpected({ expect, rule }: DecisionTest, decision: Decision): boolean {
  if (decision.allowed !== (expect === 'allow')) return false
  if (rule === undefined) return true
  return decision.rule !== undefined && (rule === decision.rule.rule || rule === fullName(decision.rule))
}
