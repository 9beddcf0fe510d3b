import type { Outcome } from './conformance.ts'

/** Operations that the bundled catalog does not implement (406). */
const unsupported = [
  'CreateView',
  'DescribeView',
  'DropView',
  'ListViews',
  'CreateFunction',
  'DescribeFunction',
  'DropFunction',
  'ListFunctions',
]

/** Lists the failures of the bundled catalog, and cases of implemented operations that were missing or skipped. */
export function findFailures(outcomes: readonly Outcome[]): string[] {
  return outcomes
    .filter(({ result, operation }) =>
      result === 'missing' || result === 'skipped' ? !unsupported.includes(operation) : result === 'failed',
    )
    .map(({ operation, title, result, message }) => `${operation}: ${title}: ${result}: ${message}`)
}
