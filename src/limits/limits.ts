import { createBuckets, type BucketFactory } from './token-buckets.ts'
import { createByteQuota } from './byte-quota.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { createFailedAuthentications, type FailedAuthentications } from './failed-authentications.ts'
import type { Limit, LimitLease } from './limit.ts'
import { LimitExceeded } from './limit-exceeded.ts'
import { createRateLimit } from './rate-limit.ts'
import type { LimitedRequest } from './limit-key.ts'
import type { CallerLimitSettings } from '../config/caller-limit-settings.ts'

export interface Limits {
  /**
   * Admits a request and charges all limits that apply to it. Throws LimitExceeded (429) or LimitsUnavailable (503)
   * without charging anything. Returns undefined if no further events need to be reported; otherwise the caller must
   * release the lease.
   */
  admit(request: LimitedRequest): LimitLease | undefined
  /**
   * Charges the entries of an admitted batch, each as a request for its own object. They may leave a debt in the limits
   * that admitted the batch. Throws LimitExceeded (429) or LimitsUnavailable (503) if another limit is exhausted,
   * without charging anything.
   */
  admitEntries(batch: LimitedRequest, entries: readonly LimitedRequest['route'][]): void
  readonly failedAuthentications: FailedAuthentications
}

interface Claim {
  readonly limit: Limit
  readonly key: string
}

type LimitsInput = Omit<CallerLimitSettings, 'shedAfterMs' | 'shared'>

/** Creates the configured limits, initially unused. Rates and bytes are counted in buckets of `makeBuckets`. */
export function createLimits(settings: LimitsInput, makeBuckets: BucketFactory = createLocalBuckets): Limits {
  const limits = [
    ...settings.rates.map((rate) => createRateLimit(rate, makeBuckets)),
    ...settings.byteQuotas.map((quota) => createByteQuota(quota, makeBuckets)),
    ...settings.concurrency.map(createConcurrencyLimit),
  ]
  return {
    failedAuthentications: createFailedAuthentications(settings.failedAuthentications),
    admit(request) {
      if (limits.length === 0) return undefined
      const now = performance.now()
      const claims = findClaims(request, limits, now)
      const leases = claims.flatMap(({ limit, key }) => limit.take(key, request, now) ?? [])
      return leases.length > 1 ? combineLeases(leases) : leases[0]
    },
    admitEntries(batch, entries) {
      const now = performance.now()
      const claims = limits.flatMap((limit) => findEntryClaims(limit, batch, entries))
      assertNotExceeded(
        claims.filter(({ limit, key }) => limit.keyFor(batch) !== key),
        batch,
        now,
      )
      for (const { limit, key, entries: count } of claims) limit.takeEntries?.(key, count, now)
    },
  }
}

const createLocalBuckets: BucketFactory = (_limit, settings) => createBuckets(settings)

/** Finds the charges of a request. Throws LimitExceeded for the limit with the longest wait. */
function findClaims(request: LimitedRequest, limits: readonly Limit[], now: number): readonly Claim[] {
  const claims: Claim[] = []
  for (const limit of limits) {
    const key = limit.keyFor(request)
    if (key !== undefined) claims.push({ limit, key })
  }
  assertNotExceeded(claims, request, now)
  return claims
}

/** Counts the entries of a batch by their key in a limit that counts requests. */
function findEntryClaims(
  limit: Limit,
  batch: LimitedRequest,
  entries: readonly LimitedRequest['route'][],
): readonly (Claim & { readonly entries: number })[] {
  if (limit.takeEntries === undefined) return []
  const { principal, client, hasBody, contentLength } = batch
  const counts = new Map<string, number>()
  for (const route of entries) {
    const key = limit.keyFor({ principal, client, hasBody, contentLength, route })
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return Array.from(counts, ([key, count]) => ({ limit, key, entries: count }))
}

function assertNotExceeded(claims: readonly Claim[], request: LimitedRequest, now: number): void {
  let longest = 0
  let exceeded: Limit | undefined
  for (const { limit, key } of claims) {
    const wait = limit.waitMs(key, request, now)
    if (wait <= longest) continue
    longest = wait
    exceeded = limit
  }
  if (exceeded === undefined) return
  throw new LimitExceeded(exceeded.reason, `${exceeded.title} is exceeded; retry later`, longest)
}

function combineLeases(leases: readonly LimitLease[]): LimitLease {
  const receivedCallbacks = leases.flatMap(({ countReceived }) => countReceived ?? [])
  const sentCallbacks = leases.flatMap(({ countSent }) => countSent ?? [])
  return {
    ...(receivedCallbacks.length > 0 && {
      countReceived: (bytes) => receivedCallbacks.forEach((callback) => callback(bytes)),
    }),
    ...(sentCallbacks.length > 0 && {
      countSent: (bytes) => sentCallbacks.forEach((callback) => callback(bytes)),
    }),
    release() {
      for (const lease of leases) lease.release()
    },
  }
}
