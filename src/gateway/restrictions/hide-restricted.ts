import { CatalogError, type ErrorName } from '../../catalog-api/catalog-error.ts'
import type { CallerRestriction } from '../../policy/restrictions/restriction.ts'

/** Errors that say nothing about rows and columns, by what their code means. */
const otherErrors: ReadonlySet<ErrorName> = new Set([
  'NamespaceNotFound',
  'TableNotFound',
  'Throttling',
  'ServiceUnavailable',
])

/**
 * Replaces the error of an upstream about a restricted table by one that is always the same: engines list hidden columns and quote
 * hidden values.
 */
export function hideRestricted(
  error: CatalogError,
  restriction: CallerRestriction | undefined,
): CatalogError {
  if (restriction === undefined) return error
  const { kind, status, headers } = error
  if (otherErrors.has(kind)) {
    return new CatalogError(kind, `the upstream refused the request with status ${status}`, {
      status,
      headers,
    })
  }
  return new CatalogError(
    'InvalidInput',
    'the catalog cannot answer this for a caller who may read a part of the table only',
  )
}
