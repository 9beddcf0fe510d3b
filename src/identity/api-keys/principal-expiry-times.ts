import type { Steps } from '../../lib/async/run-in-slices.ts'
import type { ComparableKey } from './key-changes.ts'

type ExpiringKey = Pick<ComparableKey, 'principal' | 'isRevoked' | 'expiresAt'>

/**
 * Lists when principals lose their last key, in milliseconds since 1970, soonest first. Omits principals that always have
 * a valid key.
 */
export function* listPrincipalExpiryTimes(keys: Iterable<ExpiringKey>): Steps<Float64Array> {
  const expiryTimes = new Map<string, number>()
  for (const { principal, isRevoked, expiresAt = Infinity } of keys) {
    if (!isRevoked) expiryTimes.set(principal, Math.max(expiresAt, expiryTimes.get(principal) ?? -Infinity))
    yield
  }
  // The sort is one step: that of an array, which needs a function to compare numbers, takes five times as long.
  return Float64Array.from(expiryTimes.values()).filter(Number.isFinite).toSorted()
}
