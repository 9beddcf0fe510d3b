import { groupBy } from '../../lib/index.ts'
import { formatRule } from '../analysis/steps.ts'
import { describePermissionSet } from '../language/policy-vocabulary.ts'
import type { TestResult } from './decision-test.ts'

/** Formats what a failed test expects, and what was decided instead: once for operations that are decided alike. */
export function formatDisagreements({
  disagreements,
  expected,
  expectedRule,
  expectedMessage,
  expectedSends,
  expectedColumns,
}: TestResult): readonly string[] {
  const by = expectedRule === undefined ? '' : ` by ${expectedRule}`
  const expectation = formatOutcome(`${expected}${by}`, expectedMessage, expectedSends, expectedColumns)
  const found = disagreements.map(
    ({ operation, decided, rule, message = '', sends = 'no condition on rows', columns = ['all'] }) => {
      const isAllowed = decided === 'allow'
      const decision = formatOutcome(
        `${decided}${rule === undefined ? ': no rule allows it' : ` by ${formatRule(rule)}`}`,
        isAllowed || expectedMessage === undefined ? undefined : message,
        isAllowed && expectedSends !== undefined ? sends : undefined,
        isAllowed && expectedColumns !== undefined ? columns : undefined,
      )
      return { operation, decision }
    },
  )
  return [...groupBy(found, ({ decision }) => decision)].flatMap(([decision, alike]) => [
    describePermissionSet(new Set(alike.map(({ operation }) => operation))),
    `  expected  ${expectation}`,
    `  decided   ${decision}`,
  ])
}

/** With what callers read, and what restrictions send and leave, as far as a test asks for it. */
function formatOutcome(
  decision: string,
  message: string | undefined,
  sends: string | undefined,
  columns: readonly string[] | undefined,
): string {
  const parts = [
    ...(message === undefined ? [] : [`message ${JSON.stringify(message)}`]),
    ...(sends === undefined ? [] : [`sends ${sends}`]),
    ...(columns === undefined ? [] : [`columns ${columns.join(', ') || 'none'}`]),
  ]
  return [decision, ...parts].join(', ')
}
