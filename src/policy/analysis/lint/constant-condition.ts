import type { Permission } from '../../../catalog-api/permissions.ts'
import type { Condition } from '../../conditions/condition.ts'
import { MissingFactError, unknown } from '../../conditions/fact.ts'
import { constantFacts } from '../../conditions/operation-facts.ts'
import type { ConditionInput } from '../../conditions/authorization-request.ts'
import { watchPendingFacts } from '../../conditions/watch-pending-facts.ts'

/** The result of a condition that is the same in every request: it depends on an unknown fact, or fails, or neither. */
export type ConstantResult = 'true' | 'false' | 'failed' | 'unknown'

const results = new WeakMap<Condition, Map<string, ConstantResult | undefined>>()

/**
 * Which requests for a permission are meant: all of them, all of them whatever the operation is called, or those that
 * change a whole table.
 */
type RequestScope = 'all' | 'any operation' | 'whole table'

/** The result of the condition in all such requests for the permission; undefined if it depends on the request. */
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

function computeConstantResult(
  condition: Condition,
  permission: Permission,
  requests: RequestScope,
): ConstantResult | undefined {
  const facts = constantFacts(permission)
  // The rows of one branch are overwritten without changing the whole table.
  const isWhole = requests === 'whole table' && permission === 'OverwriteTable'
  let isOpen = false
  const ask = (): never => {
    isOpen = true
    throw new Error('the condition depends on the request')
  }
  const inquiry: ConditionInput = {
    operation: watchPendingFacts(isWhole ? { ...facts, branch: unknown } : facts, () => {
      isOpen = true
    }),
    get permission() {
      return requests === 'any operation' ? ask() : permission
    },
    get principal() {
      return ask()
    },
    get request() {
      return ask()
    },
    get kind() {
      return ask()
    },
    get id() {
      return ask()
    },
  }
  try {
    return condition.evaluate(inquiry) ? 'true' : 'false'
  } catch (error) {
    if (isOpen) return undefined
    return error instanceof MissingFactError ? 'unknown' : 'failed'
  }
}
