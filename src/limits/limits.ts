import {
  CatalogError,
  getNamespaceDepth,
  type Identifier,
  listGroupParts,
  type Operation,
  type RouteMatch,
} from '../catalog-api/index.ts'
import type { CallerLimitSettings } from '../config/index.ts'
import type { Principal } from '../identity/index.ts'
import { getAddressKey } from '../lib/index.ts'
import { type BucketFactory, TokenBuckets } from './token-buckets.ts'

/** The parts of a request that limits use. */
export interface LimitedRequest {
  readonly principal: Pick<Principal, 'name' | 'method'>
  readonly route: Pick<RouteMatch, 'operation' | 'id'>
  readonly head: { readonly client: string }
}

/** All methods are synchronous, so that all limits of a request are checked before any is charged. */
interface Limit {
  readonly reason: LimitReason
  /** Description for callers: `the limit "reads" of 5 requests a second (limits.rates of the gateway)`. */
  readonly title: string
  readonly keyFor: ReturnType<typeof createLimitKeyFunction>
  /** 0 if the request is admitted now; an estimate if unknown. */
  waitMs(key: string, now: number): number
  /** Charges requests without a check. */
  take(key: string, requests: number, now: number): void
  /** Must be called at the end of each request; absent if the limit counts requests, however long they take. */
  readonly release?: (key: string) => void
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

/** Which requests a limit counts, and for whom. */
type LimitSelection = Omit<CallerLimitSettings['concurrency'][number], 'maxRequests'>

/** Rates are counted in buckets of `makeBuckets`. */
export function createLimits(
  settings: Pick<CallerLimitSettings, 'rates' | 'concurrency' | 'failedAuthentications'>,
  makeBuckets: BucketFactory = (_limit, bucket) => new TokenBuckets(bucket),
) {
  const limits = [
    ...settings.rates.map((rate) => createRateLimit(rate, makeBuckets)),
    ...settings.concurrency.map(createConcurrencyLimit),
  ]
  return {
    failedAuthentications: limitFailedAuthentications(settings.failedAuthentications),
    /** Throws LimitExceeded (429) without charging any limit. Returns a callback to call once at the end of the request. */
    admit(request: LimitedRequest): (() => void) | undefined {
      if (limits.length === 0) return undefined
      const now = performance.now()
      const claims = limits.flatMap((limit): Claim[] => {
        const key = limit.keyFor(request)
        return key === undefined ? [] : [{ limit, key }]
      })
      assertNotExceeded(claims, now)
      for (const { limit, key } of claims) limit.take(key, 1, now)
      const held = claims.filter(({ limit }) => limit.release !== undefined)
      return held.length > 0 ? () => held.forEach(({ limit, key }) => limit.release?.(key)) : undefined
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
      for (const { limit, key, entries: count } of claims) limit.take(key, count, now)
    },
  }
}

/** Counts the entries of a batch by their key in a limit that counts requests. */
function findEntryClaims(
  limit: Limit,
  batch: LimitedRequest,
  entries: readonly LimitedRequest['route'][],
): readonly (Claim & { readonly entries: number })[] {
  if (limit.release !== undefined) return []
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
function createConcurrencyLimit(settings: CallerLimitSettings['concurrency'][number]): Limit {
  const { name, maxRequests } = settings
  const running = new Map<string, number>()
  return {
    reason: 'concurrency_limited',
    title: `the limit "${name}" of ${maxRequests} requests at a time (limits.concurrency of the gateway)`,
    keyFor: createLimitKeyFunction(settings),
    waitMs: (key) => ((running.get(key) ?? 0) < maxRequests ? 0 : estimatedWaitMs),
    take: (key) => void running.set(key, (running.get(key) ?? 0) + 1),
    release(key) {
      const left = (running.get(key) ?? 1) - 1
      if (left > 0) running.set(key, left)
      else running.delete(key)
    },
  }
}

/** Each request takes a token. */
function createRateLimit(settings: CallerLimitSettings['rates'][number], makeBuckets: BucketFactory): Limit {
  const { name, perSecond, burst = Math.max(1, Math.ceil(perSecond)) } = settings
  const buckets = makeBuckets(name, { perSecond, burst })
  return {
    reason: 'rate_limited',
    title: `the limit "${name}" of ${perSecond} requests a second (limits.rates of the gateway)`,
    keyFor: createLimitKeyFunction(settings),
    waitMs: (key, now) => buckets.waitMs(key, 1, now),
    take: (key, requests, now) => buckets.take(key, requests, now),
  }
}

/** Of failed authentications of one address. */
const maxBurst = 20

/** Limits failed authentications of each address, if the settings say so. */
export function limitFailedAuthentications(settings: CallerLimitSettings['failedAuthentications']) {
  const buckets = settings && new TokenBuckets({ perSecond: settings.perSecond, burst: maxBurst })
  return {
    /** Throws LimitExceeded (429) after too many failures. */
    assertAllowed(client: string): void {
      const wait = buckets?.waitMs(getAddressKey(client), 1, performance.now()) ?? 0
      if (wait === 0) return
      throw new LimitExceeded(
        'too_many_failed_authentications',
        'too many failed authentications from this address (limits.failedAuthentications of the gateway)',
        wait,
      )
    },
    recordFailure(client: string): void {
      const now = performance.now()
      const key = getAddressKey(client)
      // Concurrent failures leave no debt: they block the address no longer than a single one.
      if (buckets?.waitMs(key, 1, now) === 0) buckets.take(key, 1, now)
    },
  }
}

/**
 * Creates the function that returns the key by which a limit counts a request; undefined if the limit does not apply to it.
 * A batch, whose route contains no id, counts for the root.
 */
export function createLimitKeyFunction({
  per,
  operations,
  principals,
  namespaces,
}: LimitSelection): (request: LimitedRequest) => string | undefined {
  const selectsOperation = createOperationSelector(operations)
  const selectedPrincipals = principals && new Set(principals)
  const getNamespaceKey = createNamespaceKeyFunction(namespaces)
  return (request) => {
    const { route, principal, head } = request
    if (!selectsOperation(route.operation)) return undefined
    if (selectedPrincipals !== undefined && !selectedPrincipals.has(principal.name)) return undefined
    const namespace = getNamespaceKey(route)
    if (namespace === undefined || per === 'namespace') return namespace
    if (per === 'principal') return getPrincipalKey(principal)
    return per === 'address' ? getAddressKey(head.client) : ''
  }
}

/** A principal may be named anonymous; it must not share the key of requests without credentials. */
export function getPrincipalKey({ name, method }: LimitedRequest['principal']): string {
  return method === 'anonymous' ? '' : name
}

/** `all` selects every operation, even an extra one without a group: a limit grants nothing. */
function createOperationSelector(names: readonly string[]): (operation: Operation) => boolean {
  if (names.includes('all')) return () => true
  const selected = new Set(names.flatMap(listGroupParts))
  return ({ name, group }) => selected.has(name) || (group !== undefined && selected.has(group))
}

/** Callers choose the depth of namespaces, and must not gain a quota with each: only listed ones have their own. */
function createNamespaceKeyFunction(
  namespaces: readonly Identifier[] | undefined,
): (route: LimitedRequest['route']) => string | undefined {
  if (namespaces === undefined) return (route) => getNamespace(route)[0] ?? ''
  const longestFirst = namespaces
    .toSorted((one, other) => other.length - one.length)
    .map((prefix) => ({ prefix, key: JSON.stringify(prefix) }))
  return (route) => {
    const namespace = getNamespace(route)
    return longestFirst.find(({ prefix }) => prefix.every((name, index) => name === namespace[index]))?.key
  }
}

function getNamespace({ operation, id }: LimitedRequest['route']): Identifier {
  return id.slice(0, getNamespaceDepth(operation.object, id))
}
