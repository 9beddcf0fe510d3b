import type { UpstreamBounds } from '../bounds.ts'
import { isUnavailableStatus } from './upstream-error.ts'
import type { OwnClient, UpstreamAccess } from './own-client.ts'

type HealthCheckBounds = Pick<
  UpstreamBounds,
  'healthCheckIntervalMs' | 'healthCheckTimeoutMs' | 'probeIntervalMs'
>

/** The health of an upstream, according to the latest checks. */
export interface HealthChecker {
  /** Whether the first check is over. */
  isChecked(): boolean
  isHealthy(): boolean
  /** Whether any check has passed. */
  hasPassed(): boolean
  /** Whether the latest check was rejected with 401 although it had the credential of the gateway. */
  isCredentialRefused(): boolean
  /** Starts a check, unless one is running. */
  checkNow(): void
  close(): void
}

/** One failure may be a coincidence. The first check has no earlier success to rely on. */
const failuresToUnhealthy = 2
/**
 * Checks the upstream periodically. Any status but 502, 503 and 504 counts as healthy: an internal error, an unknown path or a rejected credential is no
 * reason to stop sending requests. `onResult` is called after each check: why it failed, or undefined if it passed.
 */
export function startHealthChecker(
  client: OwnClient,
  credentials: UpstreamAccess['credentials'],
  bounds: HealthCheckBounds,
  onResult: (problem: string | undefined) => void,
): HealthChecker {
  const { healthCheckIntervalMs, healthCheckTimeoutMs, probeIntervalMs } = bounds
  let failures = 0
  let hasPassed = false
  let status: number | undefined
  let isClosed = false
  let isChecking = false
  let isChecked = false
  let timer: NodeJS.Timeout | undefined

  async function findProblem(): Promise<string | undefined> {
    try {
      status = (await client.probe(AbortSignal.timeout(healthCheckTimeoutMs))).status
      return isUnavailableStatus(status) ? `status ${status}` : undefined
    } catch (error) {
      status = undefined
      return String(error)
    }
  }

  async function check(): Promise<void> {
    clearTimeout(timer)
    isChecking = true
    const problem = await findProblem()
    isChecking = false
    isChecked = true
    if (isClosed) return
    const isUp = problem === undefined
    failures = isUp ? 0 : failures + 1
    hasPassed ||= isUp
    onResult(problem)
    const nextMs = isUp ? healthCheckIntervalMs : Math.min(healthCheckIntervalMs, probeIntervalMs)
    timer = setTimeout(() => void check(), nextMs).unref()
  }

  void check()
  return {
    isChecked: () => isChecked,
    hasPassed: () => hasPassed,
    isHealthy: () => failures === 0 || (hasPassed && failures < failuresToUnhealthy),
    isCredentialRefused: () => credentials.current.length > 0 && status === 401,
    checkNow() {
      if (!isChecking && !isClosed) void check()
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
