import { unsupportedOperations } from '../../src/backend/catalog/catalog-operations.ts'
import type { Outcome } from './conformance.ts'

const unsupported: readonly string[] = unsupportedOperations

/** Lists the failures of the bundled catalog, and cases of implemented operations that were missing or skipped. */
export function findFailures(outcomes: readonly Outcome[]): string[] {
  return outcomes
    .filter(({ result, operation }) =>
      result === 'missing' || result === 'skipped' ? !unsupported.includes(operation) : result === 'failed',
    )
    .map(({ operation, title, result, message }) => `${operation}: ${title}: ${result}: ${message}`)
}
