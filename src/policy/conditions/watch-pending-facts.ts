import { pending } from './fact.ts'
import type { OperationFacts } from './authorization-request.ts'

/** Wraps facts; calls `onPending` each time a condition reads a pending fact. */
export function watchPendingFacts(facts: OperationFacts, onPending: () => void): OperationFacts {
  return new Proxy(facts, {
    get(target, name): unknown {
      const fact: unknown = Reflect.get(target, name)
      if (fact === pending) onPending()
      return fact
    },
  })
}
