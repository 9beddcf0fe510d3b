import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { describePermissions } from './describe-permission.ts'
import { nearestNode, type PolicyNode } from '../engine/policy-node.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'

/** Whoever may do one of these to an object may know that it is there. */
const permissionsToKnow: Readonly<Record<ObjectKind, readonly Permission[]>> = {
  namespace: ['ListNamespaces', 'ListTables', 'DescribeNamespace', 'NamespaceExists'],
  table: ['ListTables', 'DescribeTable', 'TableExists'],
  materialized_view: ['ListTables', 'DescribeTable', 'TableExists'],
  transaction: ['DescribeTransaction'],
  none: [],
}

/** Tells who may know what, from the policies below that root. */
export function createConcealment(
  root: PolicyNode,
  couldBeAllowed: (request: AuthorizationRequest) => boolean,
  showsBeneath: (request: AuthorizationRequest) => unknown,
) {
  /** The facts are those of the other operation: what the refused one states does not matter. */
  function may(request: AuthorizationRequest, permission: Permission): boolean {
    return couldBeAllowed({ ...request, permission, operation: describePermissions[request.kind].operation })
  }

  function canKnow(request: AuthorizationRequest): boolean {
    if (permissionsToKnow[request.kind].some((permission) => may(request, permission))) return true
    // Listings show it on the way to what is beneath it.
    return request.kind === 'namespace' && showsBeneath(request) !== undefined
  }

  function canDescribe(request: AuthorizationRequest): boolean {
    return may(request, describePermissions[request.kind].permission)
  }

  function canListReferences(request: AuthorizationRequest): boolean {
    return may(request, 'ListTableTags') && may(request, 'ListTableBranches')
  }

  function isConcealed(request: AuthorizationRequest): boolean {
    const { kind, id } = request
    // The root is there for everybody.
    if (id.length === 0) return false
    const depth = kind === 'namespace' ? id.length : id.length - 1
    const status = statusAt(nearestNode(root, id, depth))
    if (status !== undefined) return status === 404
    // Whoever sent no credential is asked for one, whether or not the object is there: that tells nothing of it.
    return request.principal.method !== 'anonymous' && !canKnow(request)
  }

  return { isConcealed, canKnow, canDescribe, canListReferences }
}

/** What the deepest namespace says that says something. */
function statusAt(start: PolicyNode): 403 | 404 | undefined {
  for (let node: PolicyNode | undefined = start; node !== undefined; node = node.parent) {
    if (node.onDeny !== undefined) return node.onDeny
  }
  return undefined
}
