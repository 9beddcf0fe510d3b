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
    ...settings.bytes.map((quota) => byteQuota(quota, makeBuckets)),
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
  }
}

const ownBuckets: BucketMaker = (_limit, settings) => createBuckets(settings)

/** What the request would take. Throws LimitReached for the limit that would have it wait longest. */
function claimsOf(request: LimitedRequest, limits: readonly Limit[], now: number): readonly Claim[] {
  const claims: Claim[] = []
  let longest = 0
  let reached: Limit | undefined
  for (const limit of limits) {
    const key = limit.keyOf(request)
    if (key === undefined) continue
    claims.push({ limit, key })
    const wait = limit.waitMs(key, request, now)
    if (wait <= longest) continue
    longest = wait
    reached = limit
  }
  if (reached === undefined) return claims
  throw new LimitReached(
    reached.reason,
    `${reached.title} is reached; expected a pause before the next`,
    longest,
  )
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
