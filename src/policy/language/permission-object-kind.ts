import { getOperation, isOperationName, type ObjectKind } from '../../catalog-api/operations.ts'
import { extraPermissions, isEffectPermission, type Permission } from '../../catalog-api/permissions.ts'

/** The kind of the objects that a permission is decided on. Extra operations act on tables. */
export function objectKindOfPermission(permission: Permission): ObjectKind {
  if (isEffectPermission(permission)) return extraPermissions[permission].object
  return isOperationName(permission) ? getOperation(permission).object : 'table'
}
