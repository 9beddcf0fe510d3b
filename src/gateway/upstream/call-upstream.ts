import { setTimeout as pause } from 'node:timers/promises'
import { refusal } from '../../interface/errors.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { ExchangeFailed, type Client, type UpstreamAnswer, type UpstreamRequest } from './exchange.ts'
import { tracedExchange } from '../observe/traced-exchange.ts'
import { isTransportFailure, isUnavailable } from './upstream-failure.ts'
import type { Upstream } from './upstream.ts'

/** Between the repeats of a read, after the first, which is at once. */
const pauseMs = 50

/**
 * Sends a request to an upstream when a slot of its pool is free and the circuit is closed. A request that `mayRepeat`
 * (a read whose body is in memory) is sent again if the connection failed before the response began, within the retry
 * budget of the upstream. No response is requested again, whatever its status: a 503 with `retry-after` tells the
 * client when to come back, and retries of the gateway would only add to the load. Rejects with ExchangeFailed if the
 * request was sent, else with ClientDisconnected or ServiceUnavailable (503).
 */
export async function callUpstream(
  upstream: Upstream,
  request: UpstreamRequest,
  client: Client,
  mayRepeat: boolean,
): Promise<UpstreamAnswer> {
  assertReachable(upstream)
  const { breaker, retryBudget } = upstream
  const slots = upstream.slots[client.pool]
  const { holder } = client
  if (!slots.take(holder)) await slots.wait(holder, client.response)
  try {
    if (client.response.isDestroyed)
      throw new ClientDisconnected('the client closed the connection while its request was pending')
    retryBudget.earn()
    for (let attempt = 1; ; attempt += 1) {
      assertReachable(upstream)
      try {
        const answer = await tracedExchange(upstream, request, client, attempt)
        if (isUnavailable(answer)) breaker.failed()
        else breaker.succeeded()
        return answer
      } catch (error) {
        if (isFailureOfUpstream(error, request)) breaker.failed()
        const isLast = !mayRepeat || attempt > upstream.retries.maxRetries || !isRepeatable(error)
        if (isLast || breaker.state === 'open' || !retryBudget.spend()) throw error
      }
      if (attempt > 1) await pause(Math.random() * pauseMs * 2 ** attempt)
    }
  } finally {
    slots.release(holder)
  }
}

/** Throws ServiceUnavailable (503) with `retry-after` if the circuit of the upstream is open. */
export function assertReachable({ breaker }: Upstream): void {
  if (breaker.state === 'closed') return
  const seconds = Math.max(1, Math.ceil(breaker.settings.probeIntervalMs / 1000))
  throw refusal('circuit_open', 'upstream unavailable (circuit open); retry later', {
    headers: { 'retry-after': String(seconds) },
  })
}

/**
 * Whether a failed attempt speaks against the upstream. A client that went away, an upload that was cut off before it
 * was complete, and a timeout, which may be due to one large request, do not.
 */
function isFailureOfUpstream(error: unknown, { body }: UpstreamRequest): boolean {
  if (!(error instanceof ExchangeFailed) || !isTransportFailure(error.cause)) return false
  const isCutOff =
    body !== null && 'readableEnded' in body && !body.readableEnded && error.progress !== 'unsent'
  return !isCutOff
}

function isRepeatable(error: unknown): boolean {
  return error instanceof ExchangeFailed && error.progress !== 'answered' && isTransportFailure(error.cause)
}
