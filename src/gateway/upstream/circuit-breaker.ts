import type { UpstreamBounds } from '../bounds.ts'

type CircuitBreakerSettings = Pick<UpstreamBounds, 'consecutiveFailures' | 'probeIntervalMs'>

/** `closed`: requests are sent. `open`: they are rejected. */
export type CircuitState = 'closed' | 'open'

/** One failed probe may be a coincidence. */
const failedProbesToOpen = 2

/**
 * Rejects requests to an upstream that cannot serve them. Only probes, which the gateway sends itself, open and close
 * the circuit. Failed requests merely trigger an earlier probe: a caller can provoke failures, and must not be able to
 * open the circuit for all others.
 */
export class CircuitBreaker {
  readonly settings: CircuitBreakerSettings
  readonly #probeNow: () => void
  #state: CircuitState = 'closed'
  #failedRequests = 0
  #failedProbes = 0

  /** `probeNow` is called to request an early probe; report its result to `recordProbe`. */
  constructor(settings: CircuitBreakerSettings, probeNow: () => void) {
    this.settings = settings
    this.#probeNow = probeNow
  }

  get state(): CircuitState {
    return this.#state
  }

  recordSuccess(): void {
    this.#failedRequests = 0
  }

  recordFailure(): void {
    this.#failedRequests += 1
    if (this.#isSuspected()) this.#probeNow()
  }

  recordProbe(isUp: boolean): void {
    this.#failedProbes = isUp ? 0 : this.#failedProbes + 1
    if (isUp) {
      this.#failedRequests = 0
      this.#state = 'closed'
    } else if (this.#failedProbes >= failedProbesToOpen || this.#isSuspected()) {
      this.#state = 'open'
    }
  }

  #isSuspected(): boolean {
    return this.#failedRequests >= this.settings.consecutiveFailures
  }
}
