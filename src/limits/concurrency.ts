import type { Limit } from './limit.ts'
import { keyFinder } from './selection.ts'
import type { ConcurrencySettings } from './fairness-settings.ts'

/** Nobody knows when a request will be over. */
const guessMs = 1000

/** A limit on how many requests run at a time, from when they are let in until their answer is over. */
export function concurrencyLimit(settings: ConcurrencySettings): Limit {
  const { name, maximum } = settings
  const running = new Map<string, number>()
  return {
    reason: 'concurrency_limited',
    title: `the limit "${name}" of ${maximum} requests at a time`,
    keyOf: keyFinder(settings),
    waitMs: (key) => ((running.get(key) ?? 0) < maximum ? 0 : guessMs),
    take(key) {
      running.set(key, (running.get(key) ?? 0) + 1)
      return {
        end() {
          const left = (running.get(key) ?? 1) - 1
          if (left > 0) running.set(key, left)
          else running.delete(key)
        },
      }
    },
  }
}
