import type { Permission } from '../interface/permissions.ts'
import type { Condition } from './condition.ts'
import { FactWithoutValue, pending } from './fact.ts'
import { constantFacts } from './operation-facts.ts'
import type { Inquiry, OperationFacts } from './question.ts'

/** The result of a condition that is the same in every request: it depends on an unknown fact, or fails, or neither. */
export type Constant = 'true' | 'false' | 'failed' | 'unknown'

const results = new WeakMap<Condition, Map<string, Constant | undefined>>()

/**
 * The result of the condition in every request for the permission; undefined if it depends on the request. With
 * `operation: 'any'` it is also undefined if it depends on the name of the operation.
 */
export function constantOf(
  condition: Condition,
  permission: Permission,
  operation: 'named' | 'any' = 'named',
): Constant | undefined {
  let known = results.get(condition)
  if (known === undefined) results.set(condition, (known = new Map()))
  const key = `${permission} ${operation}`
  if (!known.has(key)) known.set(key, evaluate(condition, permission, operation))
  return known.get(key)
}

function evaluate(
  condition: Condition,
  permission: Permission,
  operation: 'named' | 'any',
): Constant | undefined {
  let isOpen = false
  const ask = (): never => {
    isOpen = true
    throw new Error('the condition depends on the request')
  }
  const inquiry: Inquiry = {
    operation: watchPending(constantFacts(permission), () => {
      isOpen = true
    }),
    get permission() {
      return operation === 'any' ? ask() : permission
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

/** The same facts; calls `onPending` each time a condition reads one that is pending. */
export function watchPending(facts: OperationFacts, onPending: () => void): OperationFacts {
  const watched = Object.entries(facts).map(([name, fact]: [string, unknown]) => [
    name,
    {
      get() {
        if (fact === pending) onPending()
        return fact
      },
    },
  ])
  return Object.defineProperties({}, Object.fromEntries(watched) as PropertyDescriptorMap) as OperationFacts
}
