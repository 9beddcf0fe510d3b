import { formatRule } from '../analysis/steps.ts'
import type { TestResult } from './decision-test.ts'

/** Formats what a failed test expects, and what was decided instead, for each of its operations. */
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
  return disagreements.flatMap(
    ({ operation, decided, rule, message = '', sends = 'no condition on rows', columns = ['all'] }) => {
      const isAllowed = decided === 'allow'
      const found = formatOutcome(
        `${decided}${rule === undefined ? ': no rule allows it' : ` by ${formatRule(rule)}`}`,
        isAllowed || expectedMessage === undefined ? undefined : message,
        isAllowed && expectedSends !== undefined ? sends : undefined,
        isAllowed && expectedColumns !== undefined ? columns : undefined,
      )
      return [operation, `  expected  ${expectation}`, `  decided   ${found}`]
    },
  )
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
