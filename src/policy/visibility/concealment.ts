import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { describePermissions } from './describe-permission.ts'
import { nearestNode, type PolicyNode } from '../engine/policy-node.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'

/** A caller who is allowed one of these on an object may know that it exists. */
const permissionsToKnow: Readonly<Record<ObjectKind, readonly Permission[]>> = {
  namespace: ['ListNamespaces', 'ListTables', 'DescribeNamespace', 'NamespaceExists'],
  table: ['ListTables', 'DescribeTable', 'TableExists'],
  materialized_view: ['ListTables', 'DescribeTable', 'TableExists'],
  view: ['ListTables', 'DescribeTable', 'TableExists'],
  function: ['DescribeFunction'],
  transaction: ['DescribeTransaction'],
  none: [],
}

export function createConcealment(
  root: PolicyNode,
  couldBeAllowed: (request: AuthorizationRequest) => boolean,
  findVisibleBeneath: (request: AuthorizationRequest) => unknown,
) {
  /** Facts of the refused operation do not matter; those of describing the object do. */
  function isAllowed(request: AuthorizationRequest, permission: Permission): boolean {
    return couldBeAllowed({ ...request, permission, operation: describePermissions[request.kind].operation })
  }

  function canKnow(request: AuthorizationRequest): boolean {
    if (permissionsToKnow[request.kind].some((permission) => isAllowed(request, permission))) return true
    // Listings show a namespace as the path to a visible object beneath it.
    return request.kind === 'namespace' && findVisibleBeneath(request) !== undefined
  }

  function canDescribe(request: AuthorizationRequest): boolean {
    return isAllowed(request, describePermissions[request.kind].permission)
  }

  function canListReferences(request: AuthorizationRequest): boolean {
    return isAllowed(request, 'ListTableTags') && isAllowed(request, 'ListTableBranches')
  }

  function isConcealed(request: AuthorizationRequest): boolean {
    const { kind, id } = request
    // The existence of the root is no secret.
    if (id.length === 0) return false
    const depth = kind === 'namespace' ? id.length : id.length - 1
    const status = statusAt(nearestNode(root, id, depth))
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
