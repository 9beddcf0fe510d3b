import { getOperation, operationNames, type ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { OperationFacts } from '../conditions/authorization-request.ts'
import { constantFacts } from '../conditions/permission-facts.ts'

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
export function findDescribePermission(kind: ObjectKind): DescribePermission | undefined {
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
