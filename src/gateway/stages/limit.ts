import { isOperationName, getOperation } from '../../catalog-api/operations.ts'
import type { BodyMemory } from '../../limits/overload/body-memory.ts'
import type { FairCapacity } from '../../limits/overload/fair-capacity.ts'
import type { LimitLease } from '../../limits/limit.ts'
import type { Limits } from '../../limits/limits.ts'
import { getPrincipalKey, type LimitedRequest } from '../../limits/limit-key.ts'
import { Overloaded, type LoadShedder } from '../../limits/overload/load-shedder.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { advance } from '../context.ts'
import type { DownstreamResponse } from '../downstream.ts'
import type { Authorized, FullPermit } from './authorize.ts'

export interface LimitOptions {
  readonly limits: Limits
  /** Active requests of all principals: at most as many as there may be connections. */
  readonly activeRequests: FairCapacity
  readonly shedding: LoadShedder
  readonly bodyMemory: BodyMemory
}

export interface Admitted extends Authorized {
  /** Counts bytes of the body against byte quotas; undefined if no quota counts them. */
  readonly countReceived: ((bytes: number) => void) | undefined
  /** Reserves memory for bytes of the body. Throws Overloaded (503). */
  readonly reserveMemory: (bytes: number) => void
}

const countSentIntervalMs = 250

/**
 * Stage 5: takes capacity of every limit that applies to the request, and releases it when the response is over. It
 * follows `authorize`, so that callers that are denied use up nothing. Throws Overloaded or LimitsUnavailable (503),
 * LimitExceeded (429), or ClientDisconnected.
 */
export function limit(
  request: Authorized,
  response: DownstreamResponse,
  { limits, activeRequests, shedding, bodyMemory }: LimitOptions,
): Admitted {
  if (response.isDestroyed)
    throw new ClientDisconnected('the client closed the connection before it was admitted')
  const { upstream, route, principal } = request
  const holder = getPrincipalKey(principal)
  shedding.admit(upstream.name, route.operation, holder)
  if (!activeRequests.canTake(holder)) throw new Overloaded()
  const lease = limits.admit(limitedRequest(request))
  activeRequests.take(holder)
  const stopCounting = lease?.countSent && countSent(response, lease.countSent)
  response.onClose.add(() => {
    activeRequests.release(holder)
    stopCounting?.()
    lease?.release()
  })
  const reserveMemory = bodyMemory.createReservation(holder, (release) => {
    if (response.isDestroyed) release()
    else response.onClose.add(release)
  })
  return advance(request, { countReceived: lease?.countReceived, reserveMemory })
}

/**
 * Counts each entry of a batch as a request, so that batches do not bypass rate limits. Throws LimitExceeded (429) or
 * LimitsUnavailable (503).
 */
export function limitEntries(request: Authorized, { decisions }: FullPermit, limits: Limits): void {
  if (request.route.operation.entries === undefined) return
  const entries = decisions.flatMap(({ requiredPermission: { entry, permission, id } }) =>
    entry !== undefined && isOperationName(permission) ? [{ operation: getOperation(permission), id }] : [],
  )
  limits.admitEntries(limitedRequest(request), entries)
}

function limitedRequest({ head, route, principal }: Authorized): LimitedRequest {
  const { client, hasBody, contentLength } = head
  return { principal, route, client, hasBody, contentLength }
}

/** Reports sent bytes while a long response is sent. Returns a function that reports the rest and stops. */
function countSent(response: DownstreamResponse, report: NonNullable<LimitLease['countSent']>): () => void {
  let reported = 0
  const count = (): void => {
    const sent = response.bytesSent
    if (sent > reported) report(sent - reported)
    reported = sent
  }
  const timer = setInterval(count, countSentIntervalMs).unref()
  return () => {
    clearInterval(timer)
    count()
  }
}
