import { operationNamed, operations, type ObjectKind, type OperationName } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'

/** What a permission is used on. The effects that hide in an operation are used on tables. */
export function kindOf(permission: Permission): ObjectKind {
  return permission in operations ? operationNamed(permission as OperationName).object : 'table'
}
