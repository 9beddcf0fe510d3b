import { getAddressKey } from '../lib/net/addresses.ts'
import { createBuckets } from './token-buckets.ts'
import { LimitExceeded } from './limit.ts'
import type { FailedAuthenticationSettings } from '../config/index.ts'

export interface FailedAuthentications {
  /** Throws LimitExceeded (429) after too many failures. */
  assertAllowed(client: string): void
  recordFailure(client: string): void
}

/** Of failed authentications of one address. */
const maxBurst = 20

export function createFailedAuthentications(
  settings: FailedAuthenticationSettings | undefined,
): FailedAuthentications {
  if (settings === undefined) return { assertAllowed: () => undefined, recordFailure: () => undefined }
  const buckets = createBuckets({ perSecond: settings.perSecond, burst: maxBurst })
  return {
    assertAllowed(client) {
      const wait = buckets.waitMs(getAddressKey(client), 1, performance.now())
      if (wait === 0) return
      throw new LimitExceeded(
        'too_many_failed_authentications',
        'too many failed authentications from this address (limits.failedAuthentications of the gateway)',
        wait,
      )
    },
    recordFailure(client) {
      const now = performance.now()
      const key = getAddressKey(client)
      // Concurrent failures leave no debt: they block the address no longer than a single one.
      if (buckets.waitMs(key, 1, now) === 0) buckets.take(key, 1, now)
    },
  }
}
