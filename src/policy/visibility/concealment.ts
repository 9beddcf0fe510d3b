import { getNamespaceDepth } from '../../catalog-api/requirements.ts'
import {
  getOperation,
  operationNames,
  type ObjectKind,
  type OperationName,
} from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { nearestNode, type PolicyNode } from '../engine/policy-node.ts'
import {
  noFacts,
  type AuthorizationRequest,
  type OperationFacts,
} from '../conditions/authorization-request.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Decision } from '../engine/decision.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { constantFacts } from '../conditions/permission-facts.ts'

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

/** Creates `findContact` of a policy set. `canKnow` is whether the principal may know that the object exists. */
export function createContactFinder(
  documents: readonly PolicyDocument[],
  root: PolicyNode,
  canKnow: (request: AuthorizationRequest) => boolean,
): (request: AuthorizationRequest, decision: Decision) => string | undefined {
  const documentsWithContact = new Map(
    documents.filter(({ contact }) => contact !== undefined).map((document) => [document.name, document]),
  )

  /** The existence of the root is no secret. */
  function mayKnow(request: AuthorizationRequest): boolean {
    return request.id.length === 0 || canKnow(request)
  }

  return (request, { rule }) => {
    if (documentsWithContact.size === 0) return undefined
    const { kind, id } = request
    const mayKnowNamespace = (namespace: Identifier): boolean =>
      mayKnow({ ...request, kind: 'namespace', id: namespace })
    const denying = rule && documentsWithContact.get(rule.policy)
    // A deny can cover the names of some tables only, so its contact would tell that one of them was guessed.
    if (denying !== undefined && mayKnow(request) && mayKnowNamespace(denying.namespace))
      return denying.contact
    let node: PolicyNode | undefined = nearestNode(root, id, getNamespaceDepth(kind, id))
    for (; node !== undefined; node = node.parent) {
      if (node.contact !== undefined && mayKnowNamespace(id.slice(0, node.depth))) return node.contact
    }
    return undefined
  }
}

/**
 * The permission to describe an object, with the facts of any request to describe it: callers that may describe one
 * branch or tag of a table may know that the table exists.
 */
interface DescribePermission {
  readonly permission: Permission
  readonly operation: OperationFacts
}

const permissionsByKind = new Map<ObjectKind, DescribePermission>(
  operationNames.flatMap((permission) =>
    getOperation(permission).describesKinds.map((kind) => [
      kind,
      { permission, operation: constantFacts(permission) },
    ]),
  ),
)

/** Undefined for objects that no operation describes. */
function findDescribePermission(kind: ObjectKind): DescribePermission | undefined {
  return permissionsByKind.get(kind)
}

/** The permissions that listings depend on. */
export const describePermissions = {
  namespace: requireDescribePermission('namespace'),
  table: requireDescribePermission('table'),
}

function requireDescribePermission(kind: ObjectKind): DescribePermission {
  const found = findDescribePermission(kind)
  if (found === undefined) throw new Error(`no operation describes a ${kind}`)
  return found
}
