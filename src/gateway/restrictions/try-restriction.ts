import { CatalogError, type RefusalReason } from '../../catalog-api/catalog-error.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import { isObject } from '../../lib/json/is-object.ts'
import { parseJsonBytes } from '../../lib/json/parse-json-bytes.ts'
import type { CallerRestriction } from '../../policy/restrictions/restriction.ts'
import type { Payload } from '../body/payload.ts'
import { listChanges } from './restrict-request.ts'

/** What a restriction that is not in force would do to a request. */
export interface TriedRestriction {
  readonly restriction: CallerRestriction
  /**
   * `restricted`: it would be sent with what the restriction leaves. `undecided`: its body is too large. Otherwise the
   * reason of the refusal.
   */
  readonly result: 'restricted' | 'undecided' | RefusalReason
  /** The error of the refusal. */
  readonly error?: CatalogError
}

/** In bytes: the body is parsed at once, and only for a count. */
const maxTriedBytes = 256 * 1024

/** Finds out what a restriction would do to a request, which stays as it is. Never throws. */
export function tryRestriction(
  request: { readonly route: RouteMatch; readonly head: { readonly isLancedb: boolean } },
  payload: Payload,
  restriction: CallerRestriction,
): TriedRestriction {
  const isJson = request.route.operation.body === 'json'
  const isLarge =
    payload.form === 'stream' || (payload.form === 'bytes' && payload.bytes.length > maxTriedBytes)
  if (isJson && isLarge) return { restriction, result: 'undecided' }
  try {
    const members = isJson && payload.form === 'bytes' ? parseJsonBytes(payload.bytes) : {}
    listChanges(request, isObject(members) ? members : {}, restriction)
    return { restriction, result: 'restricted' }
  } catch (error) {
    if (error instanceof CatalogError) return { restriction, result: error.reason, error }
    return { restriction, result: 'internal_error' }
  }
}
