import { getOperation, isOperationName } from '../../catalog-api/index.ts'
import type { Decisions } from '../authorization/decisions.ts'
import {
  type FairCapacity,
  getPrincipalKey,
  type Limits,
  type LoadShedder,
  Overloaded,
} from '../../limits/index.ts'
import { runInSlices, type Steps } from '../../lib/index.ts'
import { ClientDisconnected, type DownstreamResponse } from '../downstream.ts'
import type { ReadableRequest } from '../body/read-bounded.ts'
import { advance, type Authenticated } from '../context.ts'
import type { Authorized } from './authorize.ts'

export interface LimitOptions {
  readonly limits: Limits
  /** Active requests of all principals: at most as many as there may be connections. */
  readonly activeRequests: FairCapacity
  readonly shedding: LoadShedder
  /** For the JSON bodies of all requests and responses. */
  readonly bodyMemory: FairCapacity
}

/** A request that holds capacity of every limit. */
export interface Admitted extends Authorized, ReadableRequest {}

/**
 * Stage 5: takes capacity of every limit that applies to the request, and releases it when the response is over. It
 * follows `authorize`, so that callers that are denied use up nothing. Throws Overloaded (503),
 * LimitExceeded (429) or ClientDisconnected.
 */
export function limit(
  request: Authorized,
  response: DownstreamResponse,
  { limits, activeRequests, shedding, bodyMemory }: LimitOptions,
): Admitted {
  const { routeUpstream, route, principal } = request
  const holder = getPrincipalKey(principal)
  shedding.admit(routeUpstream, route.operation, holder)
  if (response.isDestroyed)
    throw new ClientDisconnected('the client closed the connection before it was admitted')
  if (!activeRequests.take(holder))
    throw new Overloaded(
      'this caller has its share of all requests at a time (limits.maxConnections of the gateway)',
    )
  response.onClose.add(() => activeRequests.release(holder))
  const releaseLimits = limits.admit(request)
  if (releaseLimits !== undefined) response.onClose.add(releaseLimits)
  return advance(request, {
    reserveMemory: createReservation(bodyMemory, holder, response),
    runInSlices: <Result>(steps: Steps<Result>) => runUntilClosed(steps, holder, response),
  })
}

/** Bytes per request that need no reservation; almost all bodies are smaller. */
const unreservedBytes = 16 * 1024

/**
 * Reserves memory for the bodies of a request and its response that are buffered until it ends. The result is called with the
 * bytes of each chunk before it is buffered: it takes memory in powers of two, and throws Overloaded (503) if the holder may
 * not hold more.
 */
function createReservation(
  memory: FairCapacity,
  holder: string,
  response: DownstreamResponse,
): (bytes: number) => void {
  let buffered = 0
  let reserved = unreservedBytes
  return (bytes) => {
    buffered += bytes
    while (buffered > reserved) {
      const increment = reserved
      if (!memory.take(holder, increment))
        throw new Overloaded(
          'the JSON of this caller, sent and not yet read, holds its share of the memory for bodies',
        )
      atEnd(response, () => memory.release(holder, increment))
      reserved += increment
    }
  }
}

/** Calls `release` when the response is over, at once if it is. */
function atEnd(response: DownstreamResponse, release: () => void): void {
  if (response.isDestroyed) release()
  else response.onClose.add(release)
}

async function runUntilClosed<Result>(
  steps: Steps<Result>,
  holder: string,
  response: DownstreamResponse,
): Promise<Result> {
  const closed = new AbortController()
  const discard = (): void => closed.abort(new ClientDisconnected('the client closed the connection'))
  atEnd(response, discard)
  try {
    return await runInSlices(steps, { holder, signal: closed.signal })
  } finally {
    response.onClose.delete(discard)
  }
}

/** Counts each entry of a batch as a request, so that batches do not bypass rate limits. Throws LimitExceeded (429). */
export function limitEntries(
  request: Authenticated & { readonly permit: Decisions },
  { limits }: Pick<LimitOptions, 'limits'>,
): void {
  if (request.route.operation.entries === undefined) return
  const entries = request.permit.decisions.flatMap(({ requiredPermission: { entry, permission, id } }) =>
    entry !== undefined && isOperationName(permission) ? [{ operation: getOperation(permission), id }] : [],
  )
  limits.admitEntries(request, entries)
}
