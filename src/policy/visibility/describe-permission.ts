import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { pending } from '../conditions/fact.ts'
import { noFacts, type OperationFacts } from '../conditions/authorization-request.ts'

/** The permission to describe an object, with the facts of any request to describe it. */
interface DescribePermission {
  readonly permission: Permission
  readonly operation: OperationFacts
}

// Callers who may describe one branch or tag of a table may know that the table exists.
const table: DescribePermission = {
  permission: 'DescribeTable',
  operation: { ...noFacts, branch: pending, tag: pending },
}

export const describePermissions: Readonly<Record<ObjectKind, DescribePermission>> = {
  namespace: { permission: 'DescribeNamespace', operation: noFacts },
  table,
  materialized_view: table,
  view: table,
  function: { permission: 'DescribeFunction', operation: noFacts },
  transaction: { permission: 'DescribeTransaction', operation: noFacts },
  none: { permission: 'DescribeNamespace', operation: noFacts },
}
