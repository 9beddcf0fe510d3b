/** When the circuit of an upstream opens. */
export interface CircuitBreakerSettings {
  /** Consecutive failed requests after which the upstream is probed at once. */
  readonly consecutiveFailures: number
  /** Milliseconds between probes while they fail. */
  readonly probeIntervalMs: number
}

/** `closed`: requests are sent. `open`: they are refused. */
export type CircuitState = 'closed' | 'open'

/** One failed probe may be an accident. */
const failedProbesToOpen = 2

/**
 * Keeps requests away from an upstream that cannot serve them. Only probes, which the gateway sends itself, open and
 * close the circuit. Failed requests lead to an earlier probe and to nothing else: what fails a request may be what
 * its caller sent, and one caller must not shut out all others.
 */
export class CircuitBreaker {
  readonly settings: CircuitBreakerSettings
  readonly #probeNow: () => void
  #state: CircuitState = 'closed'
  #failedRequests = 0
  #failedProbes = 0

  /** `probeNow` is called if a probe is wanted before its time; the result is reported to `probed`. */
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
