import { Client, type buildConnector } from 'undici'
import { operationNamed } from '../interface/operations.ts'
import { buildTarget } from '../interface/target.ts'
import { isUnavailable } from './upstream-failure.ts'

/** What is asked how often, and whom. */
export interface HealthOptions {
  readonly origin: string
  readonly basePath: string
  readonly delimiter: string
  readonly credentials: readonly string[]
  readonly connect: buildConnector.connector
  /** What is asked for instead of one name of the root namespace; the base path is not put in front. */
  readonly path?: string | undefined
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Called after each check from the second failure in a row on. */
  readonly onUnhealthy: () => void
}

/** How an upstream is, as far as the last checks tell. */
export interface Health {
  /** Resolves when the first check is over. */
  readonly known: Promise<void>
  healthy(): boolean
  close(): Promise<void>
}

/** One failure may be an accident; the first check of all has no better one before it to be held against. */
const failuresOfTheSick = 2

/**
 * Asks the upstream again and again, over a connection of its own: one that has no free connection is not sick for
 * that. Any answer but 502, 503 and 504 is one of somebody who is there; that its own work fails, or that it does
 * not know the path or the credential, is no reason to send it nothing.
 */
export function watchHealth(options: HealthOptions): Health {
  const { origin, connect, timeoutMs, intervalMs } = options
  const client = new Client(origin, { connect, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
  const path = options.path ?? options.basePath + listingTarget(options.delimiter)
  let failures = 0
  let everWell = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  async function isWell(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const headers = [...options.credentials]
      const { statusCode, body } = await client.request({ method: 'GET', path, headers, signal })
      await body.dump({ limit: 64 * 1024 })
      return !isUnavailable(statusCode)
    } catch {
      return false
    }
  }

  async function check(): Promise<void> {
    const well = await isWell()
    if (isClosed) return
    failures = well ? 0 : failures + 1
    everWell ||= well
    if (failures >= failuresOfTheSick) options.onUnhealthy()
    timer = setTimeout(() => void check(), intervalMs).unref()
  }

  return {
    known: check(),
    healthy: () => failures === 0 || (everWell && failures < failuresOfTheSick),
    async close() {
      isClosed = true
      clearTimeout(timer)
      await client.destroy()
    },
  }
}

/** The cheapest read that every catalog of the interface has, and that needs its store. */
function listingTarget(delimiter: string): string {
  const operation = operationNamed('ListNamespaces')
  const parameters = new Map([['limit', '1']])
  return buildTarget({ operation, id: [], delimiter, indexName: undefined, parameters }, delimiter)
}
