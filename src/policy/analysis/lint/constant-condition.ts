import type { Permission } from '../../../catalog-api/permissions.ts'
import { destinationPermission } from '../../../catalog-api/requirements.ts'
import type { OperationFacts } from '../../conditions/authorization-request.ts'
import type { Condition } from '../../conditions/condition.ts'
import { MissingFactError, unknown } from '../../conditions/fact.ts'
import { constantFacts } from '../../conditions/permission-facts.ts'

/** Result that is equal in every request. `unknown`: it depends on an unknown fact. */
export type ConstantResult = 'true' | 'false' | 'failed' | 'unknown'

const results = new WeakMap<Condition, Map<string, ConstantResult | undefined>>()

/** Requests for a permission: all, or those that change a whole table. */
type RequestScope = 'all' | 'whole table'

/**
 * Returns the result of the condition if it is equal in all requests of the scope; undefined if it depends on the
 * request.
 */
export function constantResult(
  condition: Condition,
  permission: Permission,
  requests: RequestScope = 'all',
): ConstantResult | undefined {
  let known = results.get(condition)
  if (known === undefined) results.set(condition, (known = new Map()))
  const key = `${permission} ${requests}`
  if (!known.has(key)) known.set(key, computeConstantResult(condition, permission, requests))
  return known.get(key)
}

const wholeTableFacts: { readonly [Name in Permission]?: Partial<OperationFacts> } = {
  // An overwrite may also replace the rows of one branch only.
  OverwriteTable: { branch: unknown },
  // A new table has the branch main, unless a rename creates it with all branches.
  [destinationPermission]: { branch: 'main' },
}

function computeConstantResult(
  condition: Condition,
  permission: Permission,
  requests: RequestScope,
): ConstantResult | undefined {
  const facts = {
    ...constantFacts(permission),
    ...(requests === 'whole table' && wholeTableFacts[permission]),
  }
  try {
    return condition.evaluate({ operation: facts, permission }) ? 'true' : 'false'
  } catch (error) {
    if (!(error instanceof MissingFactError)) return 'failed'
    return error.isPending ? undefined : 'unknown'
  }
}
