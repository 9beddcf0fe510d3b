import { groupBy } from '../../lib/index.ts'
import { formatRule } from '../analysis/steps.ts'
import { describePermissionSet } from '../language/policy-vocabulary.ts'
import type { Permission } from '../../catalog-api/index.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import { qualifiedRuleName, type RuleReference } from '../engine/decision.ts'
import { getPolicyName } from '../language/for-each.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { describeDenial } from '../visibility/concealment.ts'

export interface DecisionTest {
  /** Empty if the test has no name. */
  readonly name: string
  /** Name of the policy document that contains the test. */
  readonly document: string
  readonly file: string
  readonly line: number
  readonly requests: readonly AuthorizationRequest[]
  /** Whether the requests also cover everything beneath the namespace. */
  readonly beneath: boolean
  /** Of the expectations below, an undefined one allows any value. */
  readonly expected: 'allow' | 'deny'
  /** The deciding rule, as its id or as policy/id. */
  readonly expectedRule?: string | undefined
  /** A part of the message that policies give for the denial. */
  readonly expectedMessage?: string | undefined
  /** The condition on rows that restrictions add. */
  readonly expectedSends?: string | undefined
  /** The columns that restrictions leave, in any order. */
  readonly expectedColumns?: readonly string[] | undefined
}

export type TestResult = ReturnType<typeof runTests>['results'][number]

interface Parts {
  readonly decided: 'allow' | 'deny'
  /** The message of the denial, if the test expects one. */
  readonly message?: string | undefined
  /** The condition on rows that restrictions add, and the columns that they leave. */
  readonly sends?: string | undefined
  readonly columns?: readonly string[] | undefined
}

interface Disagreement extends Parts {
  readonly operation: Permission
  readonly rule?: RuleReference | undefined
}

/**
 * Runs tests: those of a policy with `mode: shadow` as if it were in force, all others without it. A rule is tested if it decided a
 * request, or restricts one of a test with `sends` or `columns`.
 */
export function runTests(
  tests: readonly DecisionTest[],
  { set: enforced, withShadowPolicies: all }: Readonly<Record<'set' | 'withShadowPolicies', PolicySet>>,
) {
  const decidingRules = new Set<string>()
  const results = tests.map(({ requests, beneath, ...test }) => {
    const { expectedMessage, expectedSends, expectedColumns } = test
    const set = all.findDocument(test.document)?.isShadow ? all : enforced
    const disagreements = requests.flatMap((request): readonly Disagreement[] => {
      const decision = beneath ? set.decideBeneath(request) : set.decide(request)
      if (decision.rule) decidingRules.add(qualifiedRuleName(decision.rule))
      const expectsMessage = expectedMessage !== undefined && !decision.allowed
      const { message } = expectsMessage ? describeDenial(set, request, decision) : {}
      const restriction = decision.allowed ? set.findRestriction(request) : undefined
      if (expectedSends !== undefined || expectedColumns !== undefined)
        for (const part of restriction?.parts ?? []) decidingRules.add(qualifiedRuleName(part.rule))
      const decided: Disagreement = {
        operation: request.permission,
        decided: decision.allowed ? 'allow' : 'deny',
        rule: decision.rule,
        message,
        sends: restriction?.rows,
        columns: restriction && [...restriction.columns.keys()],
      }
      return isExpected(test, decided) ? [] : [decided]
    })
    return { ...test, passed: disagreements.length === 0, decisions: requests.length, disagreements }
  })
  return { results, untested: listUntested(decidingRules, all.documents) }
}

/** Lists the rules that decided no test. A rule of a policy with forEach is one rule, which each value must have tested. */
function listUntested(decidingRules: ReadonlySet<string>, documents: readonly PolicyDocument[]) {
  const untested = documents.flatMap((document) =>
    document.rules
      .filter(({ id: rule }) => !decidingRules.has(qualifiedRuleName({ policy: document.name, rule })))
      .map(({ id: rule }) => qualifiedRuleName({ policy: getPolicyName(document), rule })),
  )
  return [...new Set(untested)]
}

function isExpected(
  test: Omit<DecisionTest, 'requests' | 'beneath'>,
  { decided, rule, message, sends, columns }: Disagreement,
): boolean {
  const { expected, expectedRule, expectedMessage, expectedSends, expectedColumns } = test
  const names = rule === undefined ? [] : [rule.rule, qualifiedRuleName(rule)]
  return (
    decided === expected &&
    (expectedRule === undefined || names.includes(expectedRule)) &&
    (expectedMessage === undefined || message?.includes(expectedMessage) === true) &&
    (expectedSends === undefined || sends === expectedSends) &&
    (expectedColumns === undefined || formatSorted(columns) === formatSorted(new Set(expectedColumns)))
  )
}

function formatSorted(names: Iterable<string> | undefined): string | undefined {
  return names && [...names].toSorted().join('\n')
}

/** Formats the expectation of a failed test and the actual decisions: once for operations that are decided alike. */
export function formatDisagreements({ disagreements, ...test }: TestResult): readonly string[] {
  const expected: Parts = {
    decided: test.expected,
    message: test.expectedMessage,
    sends: test.expectedSends,
    columns: test.expectedColumns,
  }
  const by = test.expectedRule === undefined ? '' : ` by ${test.expectedRule}`
  const found = disagreements.map(({ operation, rule, ...parts }) => {
    const by = rule === undefined ? ': no rule allows it' : ` by ${formatRule(rule)}`
    return { operation, decision: formatParts(parts, by, expected) }
  })
  return [...groupBy(found, ({ decision }) => decision)].flatMap(([decision, alike]) => [
    describePermissionSet(new Set(alike.map(({ operation }) => operation))),
    `  expected  ${formatParts(expected, by, expected)}`,
    `  decided   ${decision}`,
  ])
}

/** The decision with the parts that the test states. */
function formatParts(
  { decided, message = '', sends = 'no condition on rows', columns = ['all'] }: Parts,
  by: string,
  expected: Parts,
): string {
  const isAllowed = decided === 'allow'
  return [
    decided + by,
    ...(isAllowed || expected.message === undefined ? [] : [`message ${JSON.stringify(message)}`]),
    ...(isAllowed && expected.sends !== undefined ? [`sends ${sends}`] : []),
    ...(isAllowed && expected.columns !== undefined ? [`columns ${columns.join(', ') || 'none'}`] : []),
  ].join(', ')
}
