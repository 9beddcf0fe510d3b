import type { Limit } from './limit.ts'
import { createLimitKeyFunction } from './limit-key.ts'
import type { ConcurrencySettings } from '../config/caller-limit-settings.ts'

/** The end of a running request cannot be predicted. */
const estimatedWaitMs = 1000

/** Counts requests from admission to the end of the response. */
export function createConcurrencyLimit(settings: ConcurrencySettings): Limit {
  const { name, maxRequests } = settings
  const running = new Map<string, number>()
  return {
    reason: 'concurrency_limited',
    title: `the limit "${name}" of ${maxRequests} requests at a time (limits.concurrency of the gateway)`,
    keyFor: createLimitKeyFunction(settings),
    waitMs: (key) => ((running.get(key) ?? 0) < maxRequests ? 0 : estimatedWaitMs),
    take(key) {
      running.set(key, (running.get(key) ?? 0) + 1)
      return {
        release() {
          const left = (running.get(key) ?? 1) - 1
          if (left > 0) running.set(key, left)
          else running.delete(key)
        },
      }
    },
  }
}
