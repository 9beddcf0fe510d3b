import { expect, it } from 'vitest'
import type { Outcome, Result } from './conformance.ts'
import { formatOutcomes } from './format-outcomes.ts'

function verdictOf(...results: readonly Result[]): string | undefined {
  const outcomes = results.map((result): Outcome => ({
    operation: 'QueryTable',
    title: 't',
    result,
    message: '',
  }))
  return /^QueryTable .* (\w+)$/m.exec(formatOutcomes(outcomes))?.[1]
}

it.each<[string, readonly Result[]]>([
  ['has', ['passed', 'skipped']],
  ['differs', ['passed', 'failed', 'missing']],
  ['lacks', ['passed', 'failed', 'missing', 'missing']],
  ['untested', ['skipped']],
])('the verdict is %s for %j', (verdict, results) => {
  expect(verdictOf(...results)).toBe(verdict)
})
