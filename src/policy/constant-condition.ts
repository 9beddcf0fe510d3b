import type { Permission } from '../interface/permissions.ts'
import type { Condition } from './condition.ts'
import { FactWithoutValue, unknown } from './fact.ts'
import { constantFacts } from './operation-facts.ts'
import type { Inquiry } from './question.ts'
import { watchPending } from './watch-pending.ts'

/** The result of a condition that is the same in every request: it depends on an unknown fact, or fails, or neither. */
export type Constant = 'true' | 'false' | 'failed' | 'unknown'

const results = new WeakMap<Condition, Map<string, Constant | undefined>>()

/**
 * Which requests for a permission are meant: all of them, all of them whatever the operation is called, or those that
 * change a whole table.
 */
type Requests = 'all' | 'any operation' | 'whole table'

/** The result of the condition in all such requests for the permission; undefined if it depends on the request. */
export function constantOf(
  condition: Condition,
  permission: Permission,
  requests: Requests = 'all',
): Constant | undefined {
  let known = results.get(condition)
  if (known === undefined) results.set(condition, (known = new Map()))
  const key = `${permission} ${requests}`
  if (!known.has(key)) known.set(key, evaluate(condition, permission, requests))
  return known.get(key)
}

function evaluate(condition: Condition, permission: Permission, requests: Requests): Constant | undefined {
  const facts = constantFacts(permission)
  // The rows of one branch are overwritten without changing the whole table.
  const isWhole = requests === 'whole table' && permission === 'OverwriteTable'
  let isOpen = false
  const ask = (): never => {
    isOpen = true
    throw new Error('the condition depends on the request')
  }
  const inquiry: Inquiry = {
    operation: watchPending(isWhole ? { ...facts, branch: unknown } : facts, () => {
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
    return condition.holds(inquiry) ? 'true' : 'false'
  } catch (error) {
    if (isOpen) return undefined
    return error instanceof FactWithoutValue ? 'unknown' : 'failed'
  }
}
