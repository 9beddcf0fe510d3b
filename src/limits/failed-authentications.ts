import { getAddressKey } from './address-key.ts'
import { createBuckets } from './token-buckets.ts'
import { LimitExceeded } from './limit-exceeded.ts'
import type { FailedAuthenticationSettings } from '../config/caller-limit-settings.ts'

/** How often credentials of an address may be refused. */
export interface FailedAuthentications {
  /** Throws LimitReached (429) where too many were. */
  assertAllowed(client: string): void
  /** Credentials that it sent were refused. */
  recordFailure(client: string): void
}

/** Without settings there is no limit. */
export function createFailedAuthentications(
  settings: FailedAuthenticationSettings | undefined,
): FailedAuthentications {
  if (settings === undefined) return { assertAllowed: () => undefined, recordFailure: () => undefined }
  const buckets = createBuckets(settings)
  return {
    assertAllowed(client) {
      const wait = buckets.waitMs(getAddressKey(client), 1, performance.now())
      if (wait === 0) return
      throw new LimitExceeded(
        'too_many_failed_authentications',
        'too many failed authentications from this address; retry later',
        wait,
      )
    },
    recordFailure(client) {
      const now = performance.now()
      const key = getAddressKey(client)
      // Those that were looked at side by side leave no debt: the address is not shut for longer than one would.
      if (buckets.waitMs(key, 1, now) === 0) buckets.take(key, 1, now)
    },
  }
}
