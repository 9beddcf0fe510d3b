import { Backoff } from '../../lib/async/backoff.ts'
import type { AuditLog } from '../../audit/log/audit-log.ts'
import { decideResolution, type ResolutionDecision } from '../../audit/in-doubt/decide-resolution.ts'
import { toChangeEffect, type InDoubtChange } from '../../audit/in-doubt/in-doubt-changes.ts'
import type {
  IntentReference,
  CreatedVersion,
  Resolution,
  ResolvedEntry,
} from '../../audit/records/audit-record.ts'
import type { TableHistory } from '../../audit/in-doubt/table-history.ts'
import { fetchVersion } from './fetch-version.ts'
import { sendGatewayRequest } from './send-gateway-request.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** In milliseconds. */
interface ResolutionTimes {
  /**
   * How long the upstream may still execute a request after its outcome was lost. Absence counts only after this time,
   * and only if it was observed twice, this far apart.
   */
  readonly settleTimeMs: number
  /** Changes older than this remain unknown. */
  readonly maxAgeMs: number
}

/** Resolves in-doubt changes in the background. */
export interface OutcomeResolver {
  /** Adds an in-doubt change. If there are too many, it stays unknown until the next start. */
  add(request: InDoubtChange): void
  /** Lists the intents of unresolved changes. */
  listInDoubtIntents(): IntentReference[]
  close(): Promise<void>
}

interface OutcomeResolverOptions {
  readonly audit: Pick<AuditLog, 'recordResolution'>
  readonly history: TableHistory
  readonly upstreams: readonly Upstream[]
  /** Whether out-of-band versions are recorded. */
  readonly isContinuous: boolean
  readonly times: ResolutionTimes
  readonly onResolved: (entry: ResolvedEntry, request: InDoubtChange) => void
}

interface PendingResolution {
  readonly change: InDoubtChange
  lookups: number
  /** Whether a lookup has returned a result. */
  hasLookupResult: boolean
  /** Time of the next lookup, and the delays after it if it fails. */
  nextAt: number
  readonly retryDelays: Backoff
  /** Time of the first observed absence that counts. */
  absentSince: number | undefined
  /** Set if only recording is left. */
  resolution: ResolvedEntry | undefined
}

/** The lookups of one upstream, one at a time: one that does not respond delays no other. */
interface LookupQueue {
  timer: NodeJS.Timeout | undefined
  running: Promise<void> | undefined
}

const maxPending = 10_000
const retryDelays = { minMs: 500, maxMs: 5 * 60_000 }

/**
 * Starts resolving. There is one lookup at a time for each upstream, and only with capacity that clients do not use.
 */
export function createOutcomeResolver(options: OutcomeResolverOptions): OutcomeResolver {
  const { audit, history, upstreams, isContinuous, times, onResolved } = options
  const pending = new Set<PendingResolution>()
  const byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]))
  const queues = new Map<string, LookupQueue>()
  const closing = new AbortController()
  let isClosed = false

  function getQueue(upstream: string): LookupQueue {
    let queue = queues.get(upstream)
    if (queue === undefined) queues.set(upstream, (queue = { timer: undefined, running: undefined }))
    return queue
  }

  function listPending(upstream: string): PendingResolution[] {
    return [...pending].filter(({ change }) => change.upstream === upstream)
  }

  function schedule(upstream: string): void {
    const queue = getQueue(upstream)
    clearTimeout(queue.timer)
    if (isClosed || queue.running !== undefined) return
    const own = listPending(upstream)
    if (own.length === 0) return
    const next = Math.min(...own.map(({ nextAt }) => nextAt))
    queue.timer = setTimeout(
      () => {
        queue.running = resolveAllDue(upstream).finally(() => {
          queue.running = undefined
          schedule(upstream)
        })
      },
      Math.max(0, next - Date.now()),
    ).unref()
  }

  async function resolveAllDue(upstream: string): Promise<void> {
    for (const entry of listPending(upstream).filter(({ nextAt }) => nextAt <= Date.now())) {
      if (isClosed) return
      await tryToResolve(entry).catch(() => postpone(entry))
    }
  }

  async function tryToResolve(entry: PendingResolution): Promise<void> {
    if (entry.resolution !== undefined) return conclude(entry, entry.resolution)
    const { decision, versions } = await lookUp(entry)
    entry.hasLookupResult = true
    const { result, evidence } = decision
    const resolvedAt = entry.change.since + times.settleTimeMs
    // An undecided change may be decided by the outcomes of other changes.
    const isEarly = Date.now() < resolvedAt && (result === 'absent' || result === 'undecided')
    if (isEarly) entry.nextAt = resolvedAt
    else if (result === 'undecided' && mayBeDecidedByOthers(entry))
      entry.nextAt = Date.now() + retryDelays.minMs
    else if (result !== 'absent') await decide(entry, result, evidence, versions)
    else if (entry.absentSince === undefined) {
      entry.absentSince = Date.now()
      entry.nextAt = entry.absentSince + times.settleTimeMs
    } else await decide(entry, 'not_committed', evidence, versions)
  }

  /** Whether another change of the same tables has not been looked up yet: it may have created the version. */
  function mayBeDecidedByOthers({ change }: PendingResolution): boolean {
    const keys = new Set(change.change.tables.map(({ key }) => key))
    for (const other of pending) {
      if (!other.hasLookupResult && other.change.change.tables.some(({ key }) => keys.has(key))) return true
    }
    return false
  }

  /** A batch is atomic: the first conclusive lookup decides for all entries. */
  async function lookUp(
    entry: PendingResolution,
  ): Promise<{ decision: ResolutionDecision; versions: CreatedVersion[] }> {
    const { change: request } = entry
    const upstream = byName.get(request.upstream)
    const versions: CreatedVersion[] = []
    if (upstream === undefined)
      return { decision: undecidedResolution('its upstream is no longer configured'), versions }
    let decision = undecidedResolution('the change leaves no trace that identifies it')
    for (const lookup of request.lookups) {
      const found = await fetchVersion(lookup, (request) =>
        sendGatewayRequest(upstream, request, closing.signal),
      )
      entry.lookups += 1
      if (typeof found.found === 'object') versions.push(found.found)
      // The other versions of a committed batch are looked up for the record.
      if (decision.result !== 'committed') decision = decideResolution(request, lookup, found, history)
      if (decision.result === 'taken' || decision.result === 'absent') break
    }
    return { decision, versions }
  }

  function decide(
    entry: PendingResolution,
    result: Resolution,
    evidence: string,
    versions: CreatedVersion[],
  ): Promise<void> {
    const { change, lookups } = entry
    const outOfBand = history.end(change.change, toChangeEffect({ result, versions }))
    const found = versions.length > 0 && { versions }
    entry.resolution = {
      result,
      evidence,
      lookups,
      ...found,
      ...(isContinuous && outOfBand.length > 0 && { outOfBand }),
    }
    return conclude(entry, entry.resolution)
  }

  async function conclude(entry: PendingResolution, resolution: ResolvedEntry): Promise<void> {
    await audit.recordResolution(entry.change.intent, resolution)
    pending.delete(entry)
    onResolved(resolution, entry.change)
  }

  /** Called if a lookup or the record failed. */
  async function postpone(entry: PendingResolution): Promise<void> {
    const now = Date.now()
    entry.nextAt = now + entry.retryDelays.next()
    if (isClosed || entry.resolution !== undefined || now - entry.change.since < times.maxAgeMs) return
    const evidence = 'the upstream gave no answer within the maximum age'
    await decide(entry, 'undecided', evidence, []).catch(() => undefined)
  }

  return {
    add(change) {
      if (pending.size >= maxPending) return
      const nextAt = Date.now()
      pending.add({
        change,
        lookups: 0,
        hasLookupResult: false,
        nextAt,
        retryDelays: new Backoff(retryDelays),
        absentSince: undefined,
        resolution: undefined,
      })
      schedule(change.upstream)
    },
    listInDoubtIntents: () => [...pending].map(({ change }) => change.intent),
    async close() {
      isClosed = true
      for (const { timer } of queues.values()) clearTimeout(timer)
      closing.abort()
      await Promise.all([...queues.values()].flatMap(({ running }) => running ?? []))
    },
  }
}

function undecidedResolution(evidence: string): ResolutionDecision {
  return { result: 'undecided', evidence }
}
