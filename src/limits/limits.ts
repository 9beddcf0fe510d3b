import { createBuckets, type BucketFactory } from './token-buckets.ts'
import { createByteQuota } from './byte-quota.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { createFailedAuthentications, type FailedAuthentications } from './failed-authentications.ts'
import type { Limit, LimitLease } from './limit.ts'
import { LimitExceeded } from './limit-exceeded.ts'
import { createRateLimit } from './rate-limit.ts'
import type { LimitedRequest } from './limit-key.ts'
import type { CallerLimitSettings } from '../config/caller-limit-settings.ts'

/** What callers may take of this gateway. */
export interface Limits {
  /**
   * Lets a request in, and takes its share of every limit that is about it. Throws LimitReached (429) or
   * LimitsUnavailable (503), and then has taken nothing. The share is undefined where nothing has to be told of the
   * request any more; whoever has one ends it.
   */
  admit(request: LimitedRequest): LimitLease | undefined
  /**
   * Counts the entries of a batch that was let in, each as a request of its own where it lies. They may leave a debt in
   * what let the batch in. Throws LimitReached (429) or LimitsUnavailable (503) if another limit is used up, and then
   * has taken nothing.
   */
  admitEntries(batch: LimitedRequest, entries: readonly LimitedRequest['route'][]): void
  readonly failedAuthentications: FailedAuthentications
}

interface Claim {
  readonly limit: Limit
  readonly key: string
}

type LimitsInput = Omit<CallerLimitSettings, 'shedAfterMs' | 'shared'>

/** The limits of the settings, of which nothing is used yet here. Rates and bytes are counted in those buckets. */
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
      const capacities = claims.flatMap(({ limit, key }) => limit.take(key, request, now) ?? [])
      return capacities.length > 1 ? combineLeases(capacities) : capacities[0]
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

/** What the request would take. Throws LimitReached for the limit that would have it wait longest. */
function findClaims(request: LimitedRequest, limits: readonly Limit[], now: number): readonly Claim[] {
  const claims: Claim[] = []
  for (const limit of limits) {
    const key = limit.keyFor(request)
    if (key !== undefined) claims.push({ limit, key })
  }
  assertNotExceeded(claims, request, now)
  return claims
}

/** What the entries of a batch would take of a limit that counts requests: how many of them by key. */
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

/** Throws LimitReached for the limit that would have the request wait longest. */
function assertNotExceeded(claims: readonly Claim[], request: LimitedRequest, now: number): void {
  let longest = 0
  let reached: Limit | undefined
  for (const { limit, key } of claims) {
    const wait = limit.waitMs(key, request, now)
    if (wait <= longest) continue
    longest = wait
    reached = limit
  }
  if (reached === undefined) return
  throw new LimitExceeded(reached.reason, `${reached.title} is exceeded; retry later`, longest)
}

function combineLeases(capacities: readonly LimitLease[]): LimitLease {
  const arrivals = capacities.flatMap(({ countReceived }) => countReceived ?? [])
  const sendings = capacities.flatMap(({ countSent }) => countSent ?? [])
  return {
    ...(arrivals.length > 0 && { countReceived: (bytes) => arrivals.forEach((arrived) => arrived(bytes)) }),
    ...(sendings.length > 0 && { countSent: (bytes) => sendings.forEach((sent) => sent(bytes)) }),
    release() {
      for (const each of capacities) each.release()
    },
  }
}
