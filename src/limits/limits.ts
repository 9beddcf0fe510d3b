import { CatalogError } from '../catalog-api/index.ts'
import type {
  CallerLimitSettings,
  ConcurrencySettings,
  FailedAuthenticationSettings,
  RateSettings,
} from '../config/index.ts'
import { getAddressKey } from '../lib/index.ts'
import { createLimitKeyFunction, type LimitedRequest, type LimitKeyFunction } from './limit-key.ts'
import { type BucketFactory, TokenBuckets } from './token-buckets.ts'

/** All methods are synchronous, so that all limits of a request are checked before any is charged. */
interface Limit {
  readonly reason: LimitReason
  /** Description for callers: `the limit "reads" of 5 requests a second (limits.rates of the gateway)`. */
  readonly title: string
  readonly keyFor: LimitKeyFunction
  /** 0 if the request is admitted now; an estimate if unknown. */
  waitMs(key: string, now: number): number
  /** Admits and charges the request. Returns what must be called once at its end, if anything. */
  take(key: string, now: number): (() => void) | undefined
  /** Charges further requests without a check; absent if the limit does not count requests. */
  readonly chargeEntries?: (key: string, requests: number, now: number) => void
}

type LimitReason = 'rate_limited' | 'concurrency_limited' | 'too_many_failed_authentications'

/** A caller has exceeded a limit: 429 with `retry-after` in whole seconds, which the message repeats. */
export class LimitExceeded extends CatalogError {
  constructor(reason: LimitReason, message: string, waitMs: number) {
    const seconds = String(Math.max(1, Math.ceil(waitMs / 1000)))
    super('Throttling', `${message}; retry in ${seconds} s`, { reason, headers: { 'retry-after': seconds } })
  }
}

export type Limits = ReturnType<typeof createLimits>

interface Claim {
  readonly limit: Limit
  readonly key: string
}

type RequestLimitSettings = Pick<CallerLimitSettings, 'rates' | 'concurrency' | 'failedAuthentications'>

/** Rates are counted in buckets of `makeBuckets`. */
export function createLimits(
  settings: RequestLimitSettings,
  makeBuckets: BucketFactory = (_limit, bucket) => new TokenBuckets(bucket),
) {
  const limits = [
    ...settings.rates.map((rate) => createRateLimit(rate, makeBuckets)),
    ...settings.concurrency.map(createConcurrencyLimit),
  ]
  return {
    failedAuthentications: new FailedAuthentications(settings.failedAuthentications),
    /** Throws LimitExceeded (429) without charging any limit. Returns what must be called once at the end of the request. */
    admit(request: LimitedRequest): (() => void) | undefined {
      if (limits.length === 0) return undefined
      const now = performance.now()
      const claims = limits.flatMap((limit): Claim[] => {
        const key = limit.keyFor(request)
        return key === undefined ? [] : [{ limit, key }]
      })
      assertNotExceeded(claims, now)
      const releases = claims.flatMap(({ limit, key }) => limit.take(key, now) ?? [])
      return releases.length > 1 ? () => releases.forEach((release) => release()) : releases[0]
    },
    /**
     * Charges each entry of an admitted batch as a request for its object, which may leave a debt in the limits of the
     * batch. Throws as `admit` if another limit is exhausted.
     */
    admitEntries(batch: LimitedRequest, entries: readonly LimitedRequest['route'][]): void {
      const now = performance.now()
      const claims = limits.flatMap((limit) => findEntryClaims(limit, batch, entries))
      assertNotExceeded(
        claims.filter(({ limit, key }) => limit.keyFor(batch) !== key),
        now,
      )
      for (const { limit, key, entries: count } of claims) limit.chargeEntries?.(key, count, now)
    },
  }
}

/** Counts the entries of a batch by their key in a limit that counts requests. */
function findEntryClaims(
  limit: Limit,
  batch: LimitedRequest,
  entries: readonly LimitedRequest['route'][],
): readonly (Claim & { readonly entries: number })[] {
  if (limit.chargeEntries === undefined) return []
  const { principal, head } = batch
  const counts = new Map<string, number>()
  for (const route of entries) {
    const key = limit.keyFor({ principal, head, route })
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return Array.from(counts, ([key, count]) => ({ limit, key, entries: count }))
}

/** Throws LimitExceeded for the limit with the longest wait. */
function assertNotExceeded(claims: readonly Claim[], now: number): void {
  let longestMs = 0
  let exceeded: Limit | undefined
  for (const { limit, key } of claims) {
    const waitMs = limit.waitMs(key, now)
    if (waitMs <= longestMs) continue
    longestMs = waitMs
    exceeded = limit
  }
  if (exceeded === undefined) return
  throw new LimitExceeded(exceeded.reason, `${exceeded.title} is exceeded`, longestMs)
}

/** The end of a running request cannot be predicted. */
const estimatedWaitMs = 1000

/** Counts requests from admission to the end of the response. */
function createConcurrencyLimit(settings: ConcurrencySettings): Limit {
  const { name, maxRequests } = settings
  const running = new Map<string, number>()
  return {
    reason: 'concurrency_limited',
    title: `the limit "${name}" of ${maxRequests} requests at a time (limits.concurrency of the gateway)`,
    keyFor: createLimitKeyFunction(settings),
    waitMs: (key) => ((running.get(key) ?? 0) < maxRequests ? 0 : estimatedWaitMs),
    take(key) {
      running.set(key, (running.get(key) ?? 0) + 1)
      return () => {
        const left = (running.get(key) ?? 1) - 1
        if (left > 0) running.set(key, left)
        else running.delete(key)
      }
    },
  }
}

/** Each request takes a token. */
function createRateLimit(settings: RateSettings, makeBuckets: BucketFactory): Limit {
  const { name, perSecond, burst = Math.max(1, Math.ceil(perSecond)) } = settings
  const buckets = makeBuckets(name, { perSecond, burst })
  return {
    reason: 'rate_limited',
    title: `the limit "${name}" of ${perSecond} requests a second (limits.rates of the gateway)`,
    keyFor: createLimitKeyFunction(settings),
    waitMs: (key, now) => buckets.waitMs(key, 1, now),
    take(key, now) {
      buckets.take(key, 1, now)
      return undefined
    },
    chargeEntries: (key, requests, now) => buckets.take(key, requests, now),
  }
}

/** Of failed authentications of one address. */
const maxBurst = 20

/** Limits failed authentications of each address, if the settings say so. */
export class FailedAuthentications {
  readonly #buckets: TokenBuckets | undefined

  constructor(settings: FailedAuthenticationSettings | undefined) {
    this.#buckets = settings && new TokenBuckets({ perSecond: settings.perSecond, burst: maxBurst })
  }

  /** Throws LimitExceeded (429) after too many failures. */
  assertAllowed(client: string): void {
    const wait = this.#buckets?.waitMs(getAddressKey(client), 1, performance.now()) ?? 0
    if (wait === 0) return
    throw new LimitExceeded(
      'too_many_failed_authentications',
      'too many failed authentications from this address (limits.failedAuthentications of the gateway)',
      wait,
    )
  }

  recordFailure(client: string): void {
    const now = performance.now()
    const key = getAddressKey(client)
    // Concurrent failures leave no debt: they block the address no longer than a single one.
    if (this.#buckets?.waitMs(key, 1, now) === 0) this.#buckets.take(key, 1, now)
  }
}
