import type { Outcome } from './conformance.ts'

/** Operations that the bundled catalog has not: it answers them with 406. */
const notThere = ['AlterTableBackfillColumns', 'CreateMaterializedView', 'RefreshMaterializedView']

/** What failed of the bundled catalog, and what was skipped of operations that it has. */
export function errorsOf(outcomes: readonly Outcome[]): string[] {
  return outcomes
    .filter(({ result, operation }) =>
      result === 'skipped' ? !notThere.includes(operation) : result === 'failed',
    )
    .map(({ operation, title, result, message }) => `${operation}: ${title}: ${result}: ${message}`)
}
