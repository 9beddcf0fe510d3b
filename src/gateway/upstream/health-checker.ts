import { defaultDelimiter } from '../../catalog-api/identifiers.ts'
import { buildTarget } from '../../catalog-api/request-target.ts'
import { sendRequest } from '../../http1/client/send-request.ts'
import { createHttp1Client, type Http1ClientOptions } from '../../http1/client/http1-client.ts'
import type { Followed } from '../../lib/fs/follow-files.ts'
import type { UpstreamBounds } from '../bounds.ts'
import { isUnavailableStatus } from './attempt-failure.ts'
import { ownOperations } from './own-operations.ts'

export interface HealthCheckerOptions extends Pick<Http1ClientOptions, 'url' | 'opener'> {
  readonly bounds: Pick<
    UpstreamBounds,
    'connectTimeoutMs' | 'healthCheckIntervalMs' | 'healthCheckTimeoutMs' | 'probeIntervalMs'
  >
  readonly basePath: string
  readonly delimiter: string
  readonly getHeaders: () => readonly string[]
  /** Those in the headers; read again when the upstream refuses them. */
  readonly credentials: Followed<readonly string[]>
  /** Called after each check: why it failed, or undefined if it passed. */
  readonly onResult: (problem: string | undefined) => void
}

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
/** Only the status of a response is used. */
const maxResponseBytes = 16 * 1024 * 1024

/**
 * Checks the upstream periodically over a connection of its own, because a saturated connection pool is not a failure.
 * Any status but 502, 503 and 504 counts as healthy: an internal error, an unknown path or a rejected credential is no
 * reason to stop sending requests.
 */
export function startHealthChecker(options: HealthCheckerOptions): HealthChecker {
  const {
    connectTimeoutMs,
    healthCheckTimeoutMs: timeoutMs,
    healthCheckIntervalMs,
    probeIntervalMs,
  } = options.bounds
  const client = createHttp1Client({
    ...options,
    timeouts: {
      connectTimeoutMs,
      headersTimeoutMs: timeoutMs,
      bodyTimeoutMs: timeoutMs,
      totalTimeoutMs: timeoutMs,
    },
  })
  const path = options.basePath + buildProbeTarget(options.delimiter)
  let failures = 0
  let hasPassed = false
  let status: number | undefined
  let isClosed = false
  let isChecking = false
  let isChecked = false
  let timer: NodeJS.Timeout | undefined

  async function findProblem(): Promise<string | undefined> {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const request = { method: 'GET', path, headers: options.getHeaders(), body: null } as const
      const response = await sendRequest(client, request, maxResponseBytes, signal)
      status = response.status
      if (status === 401) await options.credentials.refresh()
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
    options.onResult(problem)
    const nextMs = isUp ? healthCheckIntervalMs : Math.min(healthCheckIntervalMs, probeIntervalMs)
    timer = setTimeout(() => void check(), nextMs).unref()
  }

  void check()
  return {
    isChecked: () => isChecked,
    hasPassed: () => hasPassed,
    isHealthy: () => failures === 0 || (hasPassed && failures < failuresToUnhealthy),
    isCredentialRefused: () => options.credentials.current.length > 0 && status === 401,
    checkNow() {
      if (!isChecking && !isClosed) void check()
    },
    close() {
      isClosed = true
      clearTimeout(timer)
      client.close()
    },
  }
}

/** The cheapest read that every catalog has and that reaches its store. */
export function buildProbeTarget(delimiter = defaultDelimiter): string {
  const parameters = new Map([['limit', '1']])
  return buildTarget(
    { operation: ownOperations.listNamespaces, id: [], delimiter, indexName: undefined, parameters },
    delimiter,
  )
}
