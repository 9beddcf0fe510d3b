import type { UpstreamBounds } from '../bounds.ts'

/**
 * Receives each transition of an upstream once: it starts healthy and closed. `problem`: why the latest check failed;
 * undefined if it passed.
 */
export type ReportHealth = (
  event: 'upstream healthy' | 'upstream unhealthy' | 'circuit closed' | 'circuit opened',
  upstream: string,
  problem: string | undefined,
) => void

interface HealthOptions {
  readonly name: string
  /** Sends the cheapest read, and resolves with its status. */
  readonly probe: (signal: AbortSignal) => Promise<{ readonly status: number }>
  readonly hasCredential: () => boolean
  readonly bounds: Pick<
    UpstreamBounds,
    'consecutiveFailures' | 'healthCheckIntervalMs' | 'healthCheckTimeoutMs' | 'probeIntervalMs'
  >
  readonly report?: ReportHealth | undefined
}

/** Whether the status means that a server, or one behind a proxy, cannot serve requests now. */
export function isUnavailableStatus(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

/** One failure may be a coincidence. The first check has no earlier success to rely on. */
const failedChecksThatCount = 2

/**
 * Checks an upstream periodically, and rejects requests that it cannot serve: its circuit is open then. Any status but
 * 502, 503 and 504 passes a check: an internal error, an unknown path or a rejected credential is no reason to stop
 * sending requests. Only checks open and close the circuit. Failed requests merely trigger an earlier check: a caller
 * can provoke failures, and must not be able to open the circuit for all others.
 */
export class UpstreamHealth {
  circuit: 'closed' | 'open' = 'closed'
  /** Whether the first check is over. */
  isChecked = false
  /** Whether any check has passed. */
  hasPassed = false
  readonly #options: HealthOptions
  #failedRequests = 0
  #failedChecks = 0
  #isChecking = false
  #isClosed = false
  #status: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: HealthOptions) {
    this.#options = options
  }

  get isHealthy(): boolean {
    return this.#failedChecks === 0 || (this.hasPassed && this.#failedChecks < failedChecksThatCount)
  }

  /** Whether the latest check was rejected with 401 although it had the credential of the gateway. */
  get isCredentialRefused(): boolean {
    return this.#status === 401 && this.#options.hasCredential()
  }

  recordSuccess(): void {
    this.#failedRequests = 0
  }

  recordFailure(): void {
    this.#failedRequests += 1
    if (this.#isSuspected()) void this.check()
  }

  /** Checks the upstream now, unless a check is running, and periodically from then on. */
  async check(): Promise<void> {
    if (this.#isChecking || this.#isClosed) return
    clearTimeout(this.#timer)
    this.#isChecking = true
    const problem = await this.#findProblem()
    this.#isChecking = false
    this.isChecked = true
    if (this.#isClosed) return
    this.#recordCheck(problem)
    const { healthCheckIntervalMs, probeIntervalMs } = this.#options.bounds
    const nextMs =
      problem === undefined ? healthCheckIntervalMs : Math.min(healthCheckIntervalMs, probeIntervalMs)
    this.#timer = setTimeout(() => void this.check(), nextMs).unref()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #findProblem(): Promise<string | undefined> {
    const { probe, bounds } = this.#options
    try {
      const { status } = await probe(AbortSignal.timeout(bounds.healthCheckTimeoutMs))
      this.#status = status
      return isUnavailableStatus(status) ? `status ${status}` : undefined
    } catch (error) {
      this.#status = undefined
      return String(error)
    }
  }

  #recordCheck(problem: string | undefined): void {
    const { name, report } = this.#options
    const { isHealthy: wasHealthy, circuit: before } = this
    if (problem === undefined) {
      this.#failedChecks = 0
      this.#failedRequests = 0
      this.hasPassed = true
      this.circuit = 'closed'
    } else {
      this.#failedChecks += 1
      if (this.#failedChecks >= failedChecksThatCount || this.#isSuspected()) this.circuit = 'open'
    }
    const { isHealthy, circuit } = this
    if (isHealthy !== wasHealthy)
      report?.(isHealthy ? 'upstream healthy' : 'upstream unhealthy', name, problem)
    if (circuit !== before) report?.(circuit === 'open' ? 'circuit opened' : 'circuit closed', name, problem)
  }

  #isSuspected(): boolean {
    return this.#failedRequests >= this.#options.bounds.consecutiveFailures
  }
}
