import type { FairCapacity } from '../limits/fair-capacity.ts'
import type { Share } from '../limits/limit.ts'
import type { Limits } from '../limits/limits.ts'
import { principalKey } from '../limits/selection.ts'
import { Overloaded, type Shedding } from '../limits/shedding.ts'
import type { OutgoingResponse } from '../http1/server/outgoing-response.ts'
import { ClientDisconnected } from './client-disconnected.ts'
import { operationNamed, type OperationName } from '../interface/operations.ts'
import type { Permitted, Settled } from './stages.ts'

/** What a request may be refused by. */
interface LimitParts {
  readonly fairness: Limits
  /** As many as there may be connections: principals share them. */
  readonly activeRequests: FairCapacity
  readonly shedding: Shedding
}

/** How often the bytes of a long answer are counted while it is sent. */
const countEveryMs = 250

/**
 * The stage that lets a permitted request take its share of the limits, so that who is denied takes nothing from
 * others. What it took for the time of the request is given back when its answer is over. Throws Overloaded or
 * LimitsUnavailable (503), LimitReached (429), or ClientDisconnected.
 */
export function limit(
  request: Permitted,
  response: OutgoingResponse,
  { fairness, activeRequests, shedding }: LimitParts,
): Share | undefined {
  if (response.isDestroyed)
    throw new ClientDisconnected('the client closed the connection before it was let in')
  const { upstream, meaning, principal } = request
  const holder = principalKey(principal)
  shedding.admit(upstream.name, meaning.operation.name, holder)
  if (!activeRequests.mayTake(holder)) throw new Overloaded()
  const share = fairness.admit(request)
  activeRequests.take(holder)
  const counted = share?.sent && countSent(response, (bytes) => share.sent?.(bytes))
  response.onClose.add(() => {
    activeRequests.release(holder)
    counted?.()
    share?.end()
  })
  return share
}

/**
 * Counts the entries of a batch, each as a request of its own: a batch is no way around a rate. Throws LimitReached
 * (429) or LimitsUnavailable (503).
 */
export function limitEntries(request: Settled, fairness: Limits): void {
  if (request.meaning.operation.entries === undefined) return
  const entries = request.decided
    .filter(({ need }) => need.entry !== undefined)
    .map(({ need }) => ({ operation: operationNamed(need.permission as OperationName), id: need.id }))
  fairness.admitEntries(request, entries)
}

/** Tells how many bytes of an answer have been sent since it was told last; answers what tells the rest and ends. */
function countSent(response: OutgoingResponse, sent: (bytes: number) => void): () => void {
  const { socket } = response.request
  let told = socket.bytesWritten
  const count = (): void => {
    const now = socket.bytesWritten
    if (now > told) sent(now - told)
    told = now
  }
  const timer = setInterval(count, countEveryMs).unref()
  return () => {
    clearInterval(timer)
    count()
  }
}
