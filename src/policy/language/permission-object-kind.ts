import {
  getOperation,
  operations,
  type ObjectKind,
  type OperationName,
} from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'

/** What a permission is used on. The effects that hide in an operation are used on tables, but for ReadAnyTable. */
export function objectKindOfPermission(permission: Permission): ObjectKind {
  if (permission === 'ReadAnyTable') return 'none'
  return permission in operations ? getOperation(permission as OperationName).object : 'table'
}
