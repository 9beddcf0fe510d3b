import { setTimeout as pause } from 'node:timers/promises'
import { InterfaceError } from '../../interface/errors.ts'
import type { Verdict } from './breaker.ts'
import { ClientGone } from '../edge/client-gone.ts'
import { ExchangeFailed, type Client, type UpstreamAnswer, type UpstreamRequest } from './exchange.ts'
import { tracedExchange } from '../observe/traced-exchange.ts'
import { isTransportFailure, isUnavailable } from './upstream-failure.ts'
import type { Upstream } from './upstream.ts'

/** Between the repeats of a read, after the first, which is at once. */
const pauseMs = 50

/**
 * Sends a request to an upstream, when a connection is free and its breaker lets it. A request that `mayRepeat`
 * (a read whose body is in memory) is sent again where the connection failed before its answer began, within the
 * budget of the upstream; an answer is never asked for again, whatever its status: a 503 with `retry-after` tells
 * the client when to come back, and repeats of ours would only add to the load. Rejects with ExchangeFailed where the
 * exchange was begun; else with ClientGone or ServiceUnavailable (503), and nothing was sent.
 */
export async function callUpstream(
  upstream: Upstream,
  request: UpstreamRequest,
  client: Client,
  mayRepeat: boolean,
): Promise<UpstreamAnswer> {
  assertReachable(upstream)
  const { places, breaker, retryBudget } = upstream
  if (!places.take()) await places.wait(client.response, client.yields)
  try {
    if (client.response.isDestroyed)
      throw new ClientGone('the client closed the connection before its turn came')
    retryBudget.earn()
    for (let attempt = 1; ; attempt += 1) {
      const ticket = breaker.admit()
      if (ticket === undefined) throw unreachable(breaker.closedForMs())
      try {
        const answer = await tracedExchange(upstream, request, client, attempt)
        breaker.settle(ticket, isUnavailable(answer.status) ? 'bad' : 'good')
        return answer
      } catch (error) {
        breaker.settle(ticket, verdictOn(error, request))
        const isLast = !mayRepeat || attempt > upstream.retries.attempts || !isRepeatable(error)
        if (isLast || breaker.closedForMs() > 0 || !retryBudget.spend()) throw error
      }
      if (attempt > 1) await pause(Math.random() * pauseMs * 2 ** attempt)
    }
  } finally {
    places.give()
  }
}

/** Throws ServiceUnavailable (503) with `retry-after` where the breaker of the upstream is open. */
export function assertReachable(upstream: Upstream): void {
  const ms = upstream.breaker.closedForMs()
  if (ms > 0) throw unreachable(ms)
}

/**
 * What a failure tells of the upstream. Nobody may shut out others by what he sends: that a client went away, or that
 * its upload was cut off before it was whole, is not counted, and neither is a timeout, which may be about one large
 * request. An upstream that hangs is found out by the checks of its health.
 */
function verdictOn(error: unknown, { body }: UpstreamRequest): Verdict {
  if (!(error instanceof ExchangeFailed) || !isTransportFailure(error.cause)) return 'nothing'
  const isCutOff =
    body !== null && 'readableEnded' in body && !body.readableEnded && error.progress !== 'unsent'
  return isCutOff ? 'nothing' : 'bad'
}

function isRepeatable(error: unknown): boolean {
  return error instanceof ExchangeFailed && error.progress !== 'answered' && isTransportFailure(error.cause)
}

function unreachable(ms: number): InterfaceError {
  return new InterfaceError('ServiceUnavailable', 'the catalog does not answer; the gateway lets it rest', {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) },
  })
}
