import { getOperation, isOperationName, type ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'

/** Permissions that are effects of operations apply to tables, except for ReadAnyTable. */
export function objectKindOfPermission(permission: Permission): ObjectKind {
  if (permission === 'ReadAnyTable') return 'none'
  return isOperationName(permission) ? getOperation(permission).object : 'table'
}
