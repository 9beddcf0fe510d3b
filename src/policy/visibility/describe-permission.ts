import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { pending } from '../conditions/fact.ts'
import { noFacts, type OperationFacts } from '../conditions/authorization-request.ts'

/** The permission to describe an object, and the facts of any description of it. */
interface DescribePermission {
  readonly permission: Permission
  readonly operation: OperationFacts
}

// A caller who may describe one branch of a table, or one tag, may know that the table is there.
const table: DescribePermission = {
  permission: 'DescribeTable',
  operation: { ...noFacts, branch: pending, tag: pending },
}

/** What callers ask for who describe an object of that kind. */
export const describePermissions: Readonly<Record<ObjectKind, DescribePermission>> = {
  namespace: { permission: 'DescribeNamespace', operation: noFacts },
  table,
  materialized_view: table,
  transaction: { permission: 'DescribeTransaction', operation: noFacts },
  none: { permission: 'DescribeNamespace', operation: noFacts },
}
