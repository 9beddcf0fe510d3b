import { pending } from './fact.ts'
import type { OperationFacts } from './authorization-request.ts'

/** Wraps facts; calls `onPending` each time a condition reads a pending fact. */
export function watchPendingFacts(facts: OperationFacts, onPending: () => void): OperationFacts {
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
