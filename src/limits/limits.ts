import { createBuckets, type BucketMaker } from './buckets.ts'
import { byteQuota } from './byte-quota.ts'
import { concurrencyLimit } from './concurrency.ts'
import { limitFailedAuthentications, type FailedAuthentications } from './failed-authentications.ts'
import type { Limit, Share } from './limit.ts'
import { LimitReached } from './limit-reached.ts'
import { rateLimit } from './rate.ts'
import type { LimitedRequest } from './selection.ts'
import type { FairnessSettings } from './fairness-settings.ts'

/** What callers may take of this gateway. */
export interface Limits {
  /**
   * Lets a request in, and takes its share of every limit that is about it. Throws LimitReached (429) or
   * LimitsUnavailable (503), and then has taken nothing. The share is undefined where nothing has to be told of the
   * request any more; whoever has one ends it.
   */
  admit(request: LimitedRequest): Share | undefined
  /**
   * Counts the entries of a batch that was let in, each as a request of its own where it lies. They may leave a debt in
   * what let the batch in. Throws LimitReached (429) or LimitsUnavailable (503) if another limit is used up, and then
   * has taken nothing.
   */
  admitEntries(batch: LimitedRequest, entries: readonly LimitedRequest['meaning'][]): void
  readonly authentications: FailedAuthentications
}

interface Claim {
  readonly limit: Limit
  readonly key: string
}

type LimitedBy = Omit<FairnessSettings, 'shedAfterMs' | 'shared'>

/** The limits of the settings, of which nothing is used yet here. Rates and bytes are counted in those buckets. */
export function createLimits(settings: LimitedBy, makeBuckets: BucketMaker = ownBuckets): Limits {
  const limits = [
    ...settings.rates.map((rate) => rateLimit(rate, makeBuckets)),
    ...settings.byteQuotas.map((quota) => byteQuota(quota, makeBuckets)),
    ...settings.concurrency.map(concurrencyLimit),
  ]
  return {
    authentications: limitFailedAuthentications(settings.failedAuthentications),
    admit(request) {
      if (limits.length === 0) return undefined
      const now = performance.now()
      const claims = claimsOf(request, limits, now)
      const shares = claims.flatMap(({ limit, key }) => limit.take(key, request, now) ?? [])
      return shares.length > 1 ? together(shares) : shares[0]
    },
    admitEntries(batch, entries) {
      const now = performance.now()
      const claims = limits.flatMap((limit) => entryClaims(limit, batch, entries))
      assertFree(
        claims.filter(({ limit, key }) => limit.keyOf(batch) !== key),
        batch,
        now,
      )
      for (const { limit, key, entries: count } of claims) limit.takeFurther?.(key, count, now)
    },
  }
}

const ownBuckets: BucketMaker = (_limit, settings) => createBuckets(settings)

/** What the request would take. Throws LimitReached for the limit that would have it wait longest. */
function claimsOf(request: LimitedRequest, limits: readonly Limit[], now: number): readonly Claim[] {
  const claims: Claim[] = []
  for (const limit of limits) {
    const key = limit.keyOf(request)
    if (key !== undefined) claims.push({ limit, key })
  }
  assertFree(claims, request, now)
  return claims
}

/** What the entries of a batch would take of a limit that counts requests: how many of them by key. */
function entryClaims(
  limit: Limit,
  batch: LimitedRequest,
  entries: readonly LimitedRequest['meaning'][],
): readonly (Claim & { readonly entries: number })[] {
  if (limit.takeFurther === undefined) return []
  const { principal, client, hasBody, contentLength } = batch
  const counts = new Map<string, number>()
  for (const meaning of entries) {
    const key = limit.keyOf({ principal, client, hasBody, contentLength, meaning })
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return Array.from(counts, ([key, count]) => ({ limit, key, entries: count }))
}

/** Throws LimitReached for the limit that would have the request wait longest. */
function assertFree(claims: readonly Claim[], request: LimitedRequest, now: number): void {
  let longest = 0
  let reached: Limit | undefined
  for (const { limit, key } of claims) {
    const wait = limit.waitMs(key, request, now)
    if (wait <= longest) continue
    longest = wait
    reached = limit
  }
  if (reached === undefined) return
  throw new LimitReached(reached.reason, `${reached.title} is exceeded; retry later`, longest)
}

function together(shares: readonly Share[]): Share {
  const arrivals = shares.flatMap(({ arrived }) => arrived ?? [])
  const sendings = shares.flatMap(({ sent }) => sent ?? [])
  return {
    ...(arrivals.length > 0 && { arrived: (bytes) => arrivals.forEach((arrived) => arrived(bytes)) }),
    ...(sendings.length > 0 && { sent: (bytes) => sendings.forEach((sent) => sent(bytes)) }),
    end() {
      for (const each of shares) each.end()
    },
  }
}
