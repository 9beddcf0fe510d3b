import { addressKey } from './address-key.ts'
import { createBuckets } from './buckets.ts'
import { LimitReached } from './limit-reached.ts'
import type { FailedAuthenticationSettings } from './fairness-settings.ts'

/** How often credentials of an address may be refused. */
export interface FailedAuthentications {
  /** Throws LimitReached (429) where too many were. */
  assertMayTry(client: string): void
  /** Credentials that it sent were refused. */
  failed(client: string): void
}

/** Without settings there is no limit. */
export function limitFailedAuthentications(
  settings: FailedAuthenticationSettings | undefined,
): FailedAuthentications {
  if (settings === undefined) return { assertMayTry: () => undefined, failed: () => undefined }
  const buckets = createBuckets(settings)
  return {
    assertMayTry(client) {
      const wait = buckets.waitMs(addressKey(client), 1, performance.now())
      if (wait === 0) return
      throw new LimitReached(
        'too_many_failed_authentications',
        'too many credentials from this address were refused; expected a pause before the next',
        wait,
      )
    },
    failed(client) {
      const now = performance.now()
      const key = addressKey(client)
      // Those that were looked at side by side leave no debt: the address is not shut for longer than one would.
      if (buckets.waitMs(key, 1, now) === 0) buckets.take(key, 1, now)
    },
  }
}
