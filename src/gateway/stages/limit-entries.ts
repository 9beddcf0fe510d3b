import { getOperation, isOperationName } from '../../catalog-api/operations.ts'
import type { Limits } from '../../limits/limits.ts'
import { advance } from '../context.ts'
import { toLimitedRequest } from './limit.ts'
import type { Placed } from './place.ts'

/** A request whose entries were admitted by the limits, too. */
export interface EntriesAdmitted extends Placed {
  /** Number of entries of a batch that were counted as requests. */
  readonly entries: number
}

/**
 * Stage 9: counts each entry of a batch as a request, so that batches do not bypass rate limits. Throws LimitExceeded (429).
 */
export function limitEntries(request: Placed, { limits }: { readonly limits: Limits }): EntriesAdmitted {
  if (request.route.operation.entries === undefined) return advance(request, { entries: 0 })
  const entries = request.permit.decisions.flatMap(({ requiredPermission: { entry, permission, id } }) =>
    entry !== undefined && isOperationName(permission) ? [{ operation: getOperation(permission), id }] : [],
  )
  limits.admitEntries(toLimitedRequest(request), entries)
  return advance(request, { entries: entries.length })
}
