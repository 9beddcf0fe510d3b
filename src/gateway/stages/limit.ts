import { getOperation, isOperationName } from '../../catalog-api/index.ts'
import type { Decisions } from '../authorization/decisions.ts'
import {
  createReservation,
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
  shedding.admit(routeUpstream.name, route.operation, holder)
  holdActiveRequest(activeRequests, holder, response)
  const releaseLimits = limits.admit(request)
  if (releaseLimits !== undefined) response.onClose.add(releaseLimits)
  const reserveMemory = createReservation(bodyMemory, holder, (release) => {
    if (response.isDestroyed) release()
    else response.onClose.add(release)
  })
  return advance(request, {
    reserveMemory,
    runInSlices: <Result>(steps: Steps<Result>) => runUntilClosed(steps, holder, response),
  })
}

/** Takes one of the active requests until the response is over. Throws Overloaded (503) or ClientDisconnected. */
function holdActiveRequest(
  activeRequests: FairCapacity,
  holder: string,
  response: Pick<DownstreamResponse, 'isDestroyed' | 'onClose'>,
): void {
  if (response.isDestroyed)
    throw new ClientDisconnected('the client closed the connection before it was admitted')
  if (!activeRequests.take(holder))
    throw new Overloaded(
      'this caller has its share of all requests at a time (limits.maxConnections of the gateway)',
    )
  response.onClose.add(() => activeRequests.release(holder))
}

async function runUntilClosed<Result>(
  steps: Steps<Result>,
  holder: string,
  response: DownstreamResponse,
): Promise<Result> {
  const closed = new AbortController()
  const discard = (): void => closed.abort(new ClientDisconnected('the client closed the connection'))
  if (response.isDestroyed) discard()
  else response.onClose.add(discard)
  try {
    return await runInSlices(steps, { holder, signal: closed.signal })
  } finally {
    response.onClose.delete(discard)
  }
}

/** A request whose entries were admitted by the limits, too. */
export interface EntriesAdmitted {
  /** Number of entries of a batch that were counted as requests. */
  readonly entries: number
}

/**
 * Stage 9: counts each entry of a batch as a request, so that batches do not bypass rate limits. Throws LimitExceeded (429).
 */
export function limitEntries<Request extends Authenticated & { readonly permit: Decisions }>(
  request: Request,
  { limits }: Pick<LimitOptions, 'limits'>,
): Request & EntriesAdmitted {
  if (request.route.operation.entries === undefined) return advance(request, { entries: 0 })
  const entries = request.permit.decisions.flatMap(({ requiredPermission: { entry, permission, id } }) =>
    entry !== undefined && isOperationName(permission) ? [{ operation: getOperation(permission), id }] : [],
  )
  limits.admitEntries(request, entries)
  return advance(request, { entries: entries.length })
}
