import { setTimeout as pause } from 'node:timers/promises'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import type { AuditLog } from '../../audit/log/audit-log.ts'
import { AuditUnavailable } from '../../audit/log/audit-unavailable.ts'
import type { TableHistory } from '../../audit/in-doubt/table-history.ts'
import type { ComparisonEntry, ObjectId } from '../../audit/records/audit-record.ts'
import { Backoff } from '../../lib/async/backoff.ts'
import { toError } from '../../lib/errors/to-error.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import { fetchVersion } from './fetch-version.ts'
import { sendGatewayRequest, type SendGatewayRequest } from './send-gateway-request.ts'
import { walkTables } from './walk-tables.ts'

/** Compares the versions of upstreams with the known ones, again and again. */
export interface VersionComparer {
  /** Aborts the requests, and resolves when all have ended. */
  close(): Promise<void>
}

/** What a round over the tables of an upstream has read. */
export interface ComparisonRound {
  readonly upstream: string
  /** Number of tables whose newest version was read. */
  readonly tables: number
  /** Why not all were read. */
  readonly problem: string | undefined
}

interface VersionComparerOptions {
  readonly audit: Pick<AuditLog, 'recordComparison'>
  readonly history: TableHistory
  readonly upstreams: Upstreams
  /** Called once the record of a difference is durable. */
  readonly onDifference: (entry: ComparisonEntry) => void
  readonly onRound: (round: ComparisonRound) => void
}

/** Of all upstreams together. The history retains twice as many, so that rounds evict no table that is in use. */
const maxTables = 5_000
/** Consecutive tables that cannot be read end a round: the upstream does not describe versions, or is down. */
const maxFailures = 5
const maxAttempts = 3
const retryDelays = { minMs: 250, maxMs: 2_000 }

/**
 * Starts to compare those upstreams whose settings say so: one table at a time for each, over slots for listings that no
 * client waits for. A change of a table through the gateway meanwhile leaves the table for the next round.
 */
export function startVersionComparer(options: VersionComparerOptions): VersionComparer {
  const { audit, history, upstreams, onDifference, onRound } = options
  const closing = new AbortController()
  const { signal } = closing
  const compared = upstreams.all.filter(({ compareVersionsSeconds }) => compareVersionsSeconds !== undefined)
  /** Differences that the history knows, and the log does not yet. */
  const unrecorded = new Map<string, ComparisonEntry>()

  async function run(upstream: Upstream, intervalMs: number): Promise<void> {
    const delays = new Backoff({ minMs: intervalMs, maxMs: intervalMs })
    while (await isOpenAfter(delays.next())) {
      const round = await compareTables(upstream)
      if (!signal.aborted) onRound({ upstream: upstream.name, ...round })
    }
  }

  async function compareTables(upstream: Upstream): Promise<Omit<ComparisonRound, 'upstream'>> {
    let tables = 0
    let failures = 0
    let problem: string | undefined
    const send: SendGatewayRequest = (request) =>
      retry(() => sendGatewayRequest(upstream, request, signal, 'listing'))
    try {
      await recordAgain(upstream.name)
      for await (const id of walkTables(upstream, upstreams, send)) {
        if (tables >= maxTables / compared.length) throw new Error('it has more tables than can be compared')
        try {
          await compareTable(upstream.name, id, send)
          tables += 1
          failures = 0
        } catch (error) {
          if (error instanceof AuditUnavailable || ++failures === maxFailures) throw error
          problem ??= `${formatIdentifierText(id)}: ${toError(error).message}`
        }
      }
    } catch (error) {
      problem ??= toError(error).message
    }
    return { tables, problem }
  }

  async function compareTable(upstream: string, id: ObjectId, send: SendGatewayRequest): Promise<void> {
    const read = history.startRead(id)
    const { found } = await fetchVersion({ id, branch: undefined }, send)
    if (found === 'nothing') return
    const version = found === 'no version' ? 0 : found.version
    if (version === 0 && (history.getNewestVersion(id, undefined) ?? 0) > 0)
      throw new Error('the upstream describes no version of a table that had some')
    const difference = history.endRead(read, version)
    if (difference === undefined) return
    const from = difference.before + 1
    const outOfBand = from <= version ? [{ id, from, to: version }] : undefined
    await record({ upstream, id, ...difference, outOfBand })
  }

  /** The history has the new version already, so the entry is retained until it is in the log. */
  async function record(entry: ComparisonEntry): Promise<void> {
    unrecorded.set(entry.upstream, entry)
    await audit.recordComparison(entry)
    unrecorded.delete(entry.upstream)
    onDifference(entry)
  }

  /** Changes may have been recorded since, so the record has their version: a restart reads it after theirs. */
  async function recordAgain(name: string): Promise<void> {
    const entry = unrecorded.get(name)
    if (entry === undefined) return
    await record({ ...entry, version: history.getNewestVersion(entry.id, undefined) ?? entry.version })
  }

  /** For a busy pool, an open circuit or a broken connection, not for a response. */
  async function retry<Result>(attemptOnce: () => Promise<Result>): Promise<Result> {
    const delays = new Backoff(retryDelays)
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attemptOnce()
      } catch (error) {
        if (attempt === maxAttempts || !(await isOpenAfter(delays.next()))) throw error
      }
    }
  }

  /** Waits. Resolves with false once the comparer is closed. */
  async function isOpenAfter(ms: number): Promise<boolean> {
    await pause(ms, undefined, { signal, ref: false }).catch(() => undefined)
    return !signal.aborted
  }

  const running = compared.map((upstream) => run(upstream, (upstream.compareVersionsSeconds ?? 0) * 1_000))
  return {
    async close() {
      closing.abort()
      await Promise.all(running)
    },
  }
}
