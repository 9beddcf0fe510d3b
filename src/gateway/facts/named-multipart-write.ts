import { canonicalizeBranch, type StatedFacts } from '../../catalog-api/facts.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { isSameIdentifier } from '../../catalog-api/identifiers.ts'
import { uploadIdName } from '../../catalog-api/operations.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import type { Authenticated } from '../context.ts'
import type { SealedIds } from './sealed-ids.ts'

/**
 * Returns the route of a request with the id that the upstream has given to the multipart write which the request names.
 * Throws InvalidInput (400) if the caller did not begin it on this table and branch, at the upstream that has them now.
 * One message for all cases: it says nothing of the writes of others.
 */
export function openUploadId(
  { route, routeUpstream, principal }: Authenticated,
  { branch }: StatedFacts,
  sealedIds: SealedIds,
): RouteMatch {
  const { operation, id, parameters } = route
  const sealed = operation.multipart === undefined ? undefined : parameters.get(uploadIdName)
  if (typeof sealed !== 'string') return route
  const write = sealedIds.open('multipart write', sealed, principal)
  const isHere =
    write !== undefined &&
    isSameIdentifier(write.id, id) &&
    canonicalizeBranch(write.branch) === canonicalizeBranch(branch) &&
    write.upstream === routeUpstream.name
  if (isHere) return { ...route, parameters: new Map(parameters).set(uploadIdName, write.upstreamId) }
  throw refusal(
    'unknown_multipart_write',
    `the query parameter "${uploadIdName}" names no multipart write that you began on this branch of the table`,
  )
}
