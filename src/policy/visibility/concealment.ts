import { getNamespaceDepth } from '../../catalog-api/object-kinds.ts'
import {
  getOperation,
  operationNames,
  type ObjectKind,
  type OperationName,
} from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { findDescribePermission } from './describe-permission.ts'
import { nearestNode, type PolicyNode } from '../engine/policy-node.ts'
import { noFacts, type AuthorizationRequest } from '../conditions/authorization-request.ts'

/** A caller that is allowed one of these on an object of the kind may know that it exists. */
const permissionsToKnow = new Map<ObjectKind, OperationName[]>()
for (const name of operationNames) {
  for (const kind of getOperation(name).reveals)
    permissionsToKnow.set(kind, [...(permissionsToKnow.get(kind) ?? []), name])
}

const permissionsToListReferences = operationNames.filter((name) => getOperation(name).references === 'lists')

export function createConcealment(
  root: PolicyNode,
  couldBeAllowed: (request: AuthorizationRequest) => boolean,
  findVisibleBeneath: (request: AuthorizationRequest) => unknown,
) {
  /** Facts of the refused operation do not matter; those of describing the object do. */
  function isAllowed(request: AuthorizationRequest, permission: Permission): boolean {
    const operation = findDescribePermission(request.kind)?.operation ?? noFacts
    return couldBeAllowed({ ...request, permission, operation })
  }

  function canKnow(request: AuthorizationRequest): boolean {
    // A transaction shows that its table exists.
    if (
      request.kind === 'transaction' &&
      !canKnow({ ...request, kind: 'table', id: request.id.slice(0, -1) })
    )
      return false
    const permissions = permissionsToKnow.get(request.kind) ?? []
    if (permissions.some((permission) => isAllowed(request, permission))) return true
    // Listings show a namespace as the path to a visible object beneath it.
    return request.kind === 'namespace' && findVisibleBeneath(request) !== undefined
  }

  function canDescribe(request: AuthorizationRequest): boolean {
    const describing = findDescribePermission(request.kind)
    return describing !== undefined && isAllowed(request, describing.permission)
  }

  function canListReferences(request: AuthorizationRequest): boolean {
    return permissionsToListReferences.every((permission) => isAllowed(request, permission))
  }

  function isConcealed(request: AuthorizationRequest): boolean {
    const { kind, id } = request
    // The existence of the root is no secret.
    if (id.length === 0) return false
    const status = statusAt(nearestNode(root, id, getNamespaceDepth(kind, id)))
    if (status !== undefined) return status === 404
    // Anonymous callers always get 401, whether or not the object exists, so nothing needs to be concealed.
    return request.principal.method !== 'anonymous' && !canKnow(request)
  }

  return { isConcealed, canKnow, canDescribe, canListReferences }
}

/** Returns `onDeny` of the deepest namespace that sets it. */
function statusAt(start: PolicyNode): 403 | 404 | undefined {
  for (let node: PolicyNode | undefined = start; node !== undefined; node = node.parent) {
    if (node.onDeny !== undefined) return node.onDeny
  }
  return undefined
}
