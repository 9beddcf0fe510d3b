import type { ObjectKind } from '../interface/operations.ts'
import type { Permission } from '../interface/permissions.ts'
import { pending } from './fact.ts'
import { noFacts, type OperationFacts } from './question.ts'

/** The permission to describe an object, and the facts of any description of it. */
interface Describing {
  readonly permission: Permission
  readonly operation: OperationFacts
}

// A caller who may describe one branch of a table, or one tag, may know that the table is there.
const table: Describing = {
  permission: 'DescribeTable',
  operation: { ...noFacts, branch: pending, tag: pending },
}

/** What callers ask for who describe an object of that kind. */
export const describing: Readonly<Record<ObjectKind, Describing>> = {
  namespace: { permission: 'DescribeNamespace', operation: noFacts },
  table,
  materialized_view: table,
  transaction: { permission: 'DescribeTransaction', operation: noFacts },
  none: { permission: 'DescribeNamespace', operation: noFacts },
}
