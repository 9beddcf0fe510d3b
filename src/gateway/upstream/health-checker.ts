import { getOperation } from '../../catalog-api/operations.ts'
import { buildTarget } from '../../catalog-api/request-target.ts'
import type { ConnectorOptions } from '../../http1/client/connector.ts'
import { readResponse } from '../../http1/client/read-response.ts'
import { createHttp1Client } from '../../http1/client/http1-client.ts'
import { isUnavailableStatus } from './attempt-failure.ts'

/** What is asked how often, and whom. */
export interface HealthCheckerOptions extends ConnectorOptions {
  readonly connectTimeoutMs: number
  readonly basePath: string
  readonly delimiter: string
  readonly headers: readonly string[]
  /** What is asked for instead of one name of the root namespace; the base path is not put in front. */
  readonly path?: string | undefined
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Milliseconds between two checks while they fail. */
  readonly failingIntervalMs: number
  /** Called with the result of each check. */
  readonly onResult: (isUp: boolean) => void
}

/** How an upstream is, as far as the last checks tell. */
export interface HealthChecker {
  /** Resolves when the first check is over. */
  readonly firstCheck: Promise<void>
  isHealthy(): boolean
  /** Checks at once, unless a check is under way. */
  checkNow(): void
  close(): void
}

/** One failure may be an accident; the first check of all has no better one before it to be held against. */
const failuresToUnhealthy = 2
/** Of an answer to a check; nothing of it is read but its status. */
const maxResponseBytes = 16 * 1024 * 1024

/**
 * Asks the upstream again and again, over a connection of its own: one that has no free connection is not sick for
 * that. Any response but 502, 503 and 504 comes from a server that is there; that its own work fails, or that it does
 * not know the path or the credential, is no reason to send it nothing.
 */
export function startHealthChecker(options: HealthCheckerOptions): HealthChecker {
  const { connectTimeoutMs, timeoutMs, intervalMs, failingIntervalMs } = options
  const client = createHttp1Client({
    ...options,
    timeouts: {
      connectTimeoutMs,
      headersTimeoutMs: timeoutMs,
      bodyTimeoutMs: timeoutMs,
      totalTimeoutMs: timeoutMs,
    },
  })
  const path = options.path ?? options.basePath + buildProbeTarget(options.delimiter)
  let failures = 0
  let everWell = false
  let isClosed = false
  let isChecking = false
  let timer: NodeJS.Timeout | undefined

  async function isWell(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const request = { method: 'GET', path, headers: options.headers, body: null } as const
      const { status } = await readResponse(client, request, maxResponseBytes, signal)
      return !isUnavailableStatus(status)
    } catch {
      return false
    }
  }

  async function check(): Promise<void> {
    clearTimeout(timer)
    isChecking = true
    const well = await isWell()
    isChecking = false
    if (isClosed) return
    failures = well ? 0 : failures + 1
    everWell ||= well
    options.onResult(well)
    const nextMs = well ? intervalMs : Math.min(intervalMs, failingIntervalMs)
    timer = setTimeout(() => void check(), nextMs).unref()
  }

  return {
    firstCheck: check(),
    isHealthy: () => failures === 0 || (everWell && failures < failuresToUnhealthy),
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

/** The cheapest read that every catalog of the interface has, and that needs its store. */
function buildProbeTarget(delimiter: string): string {
  const operation = getOperation('ListNamespaces')
  const parameters = new Map([['limit', '1']])
  return buildTarget({ operation, id: [], delimiter, indexName: undefined, parameters }, delimiter)
}
