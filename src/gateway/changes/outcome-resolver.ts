import type { AuditLog } from '../../audit/log/audit-log.ts'
import { decideResolution, type ResolutionDecision } from '../../audit/resolution/decide-resolution.ts'
import { toChangeEffect, type InDoubtChange } from '../../audit/resolution/in-doubt-changes.ts'
import type {
  IntentReference,
  CreatedVersion,
  Resolution,
  ResolvedEntry,
} from '../../audit/records/audit-record.ts'
import type { TableHistory } from '../../audit/resolution/table-history.ts'
import { fetchVersion } from './fetch-version.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** When the upstream is asked, in milliseconds. */
interface ResolutionTimes {
  /**
   * How long a request may still be at work in the upstream after its outcome was lost. Absence counts after that
   * time, and when it was seen twice, so long apart.
   */
  readonly settleTimeMs: number
  /** An outcome that is older stays unknown for good. */
  readonly maxAgeMs: number
}

/** Finds out in the background what became of changes whose outcome is unknown. */
export interface OutcomeResolver {
  /** Takes up a question. One too many stays unknown until the next start. */
  add(request: InDoubtChange): void
  /** The intents of the questions that are open. */
  listInDoubtIntents(): IntentReference[]
  close(): Promise<void>
}

/** What the resolver works with. */
interface OutcomeResolverOptions {
  readonly audit: Pick<AuditLog, 'recordResolution'>
  readonly history: TableHistory
  readonly upstreams: readonly Upstream[]
  /** Whether versions that were made past the log are recorded. */
  readonly isContinuous: boolean
  readonly times: ResolutionTimes
  readonly onResolved: (entry: ResolvedEntry, request: InDoubtChange) => void
}

interface PendingResolution {
  readonly change: InDoubtChange
  lookups: number
  /** Whether the upstream has told something of it. */
  hasLookupResult: boolean
  /** When the upstream is asked next, and how long it is left alone after that if it says nothing. */
  nextAt: number
  retryDelayMs: number
  /** When it was first seen to be absent at a time that counts. */
  absentSince: number | undefined
  /** What is left is to record it. */
  resolution: ResolvedEntry | undefined
}

const maxPending = 10_000
const initialRetryDelayMs = 500
const maxRetryDelayMs = 5 * 60_000

/** Begins to resolve. Upstreams are asked one question at a time, and only what clients leave them room for. */
export function createOutcomeResolver(options: OutcomeResolverOptions): OutcomeResolver {
  const { audit, history, upstreams, isContinuous, times, onResolved } = options
  const pending = new Set<PendingResolution>()
  const byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]))
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  const closing = new AbortController()
  let isClosed = false

  function schedule(): void {
    clearTimeout(timer)
    if (isClosed || running !== undefined || pending.size === 0) return
    const next = Math.min(...[...pending].map(({ nextAt }) => nextAt))
    timer = setTimeout(
      () => {
        running = askAllDue().finally(() => {
          running = undefined
          schedule()
        })
      },
      Math.max(0, next - Date.now()),
    ).unref()
  }

  async function askAllDue(): Promise<void> {
    for (const each of [...pending].filter(({ nextAt }) => nextAt <= Date.now())) {
      if (isClosed) return
      await askOne(each).catch(() => postpone(each))
    }
  }

  async function askOne(each: PendingResolution): Promise<void> {
    if (each.resolution !== undefined) return conclude(each, each.resolution)
    const { judgement, versions } = await poll(each)
    each.hasLookupResult = true
    const { result, evidence } = judgement
    const resolvedAt = each.change.since + times.settleTimeMs
    // What nobody can tell yet may show when changes of others have come to their ends.
    const isEarly = Date.now() < resolvedAt && (result === 'absent' || result === 'undecided')
    if (isEarly) each.nextAt = resolvedAt
    else if (result === 'undecided' && othersMayReport(each)) each.nextAt = Date.now() + initialRetryDelayMs
    else if (result !== 'absent') await decide(each, result, evidence, versions)
    else if (each.absentSince === undefined) {
      each.absentSince = Date.now()
      each.nextAt = each.absentSince + times.settleTimeMs
    } else await decide(each, 'not_committed', evidence, versions)
  }

  /** Whether another change of the same tables has not been asked about yet: it may have made the version. */
  function othersMayReport({ change }: PendingResolution): boolean {
    const keys = new Set(change.change.tables.map(({ key }) => key))
    for (const other of pending) {
      if (!other.hasLookupResult && other.change.change.tables.some(({ key }) => keys.has(key))) return true
    }
    return false
  }

  /** A batch is made as a whole or not at all: the first lookup that decides, decides for all. */
  async function poll(
    each: PendingResolution,
  ): Promise<{ judgement: ResolutionDecision; versions: CreatedVersion[] }> {
    const { change: request } = each
    const upstream = byName.get(request.upstream)
    const versions: CreatedVersion[] = []
    if (upstream === undefined)
      return { judgement: undecidedResolution('its upstream is no longer configured'), versions }
    let judgement = undecidedResolution('the change leaves no trace that identifies it')
    for (const lookup of request.lookups) {
      const found = await fetchVersion(upstream, lookup, closing.signal)
      each.lookups += 1
      if (typeof found.found === 'object') versions.push(found.found)
      // The further versions of a batch that was made are looked up for the record.
      if (judgement.result !== 'committed') judgement = decideResolution(request, lookup, found, history)
      if (judgement.result === 'taken' || judgement.result === 'absent') break
    }
    return { judgement, versions }
  }

  function decide(
    each: PendingResolution,
    result: Resolution,
    evidence: string,
    versions: CreatedVersion[],
  ): Promise<void> {
    const { change, lookups } = each
    const outOfBand = history.end(change.change, toChangeEffect({ result, versions }))
    const found = versions.length > 0 && { versions }
    each.resolution = {
      result,
      evidence,
      looks: lookups,
      ...found,
      ...(isContinuous && outOfBand.length > 0 && { outOfBand }),
    }
    return conclude(each, each.resolution)
  }

  async function conclude(each: PendingResolution, entry: ResolvedEntry): Promise<void> {
    await audit.recordResolution(each.change.intent, entry)
    pending.delete(each)
    onResolved(entry, each.change)
  }

  /** Nothing was learnt, or nothing could be recorded. */
  async function postpone(each: PendingResolution): Promise<void> {
    const now = Date.now()
    each.nextAt = now + each.retryDelayMs * (0.75 + 0.5 * Math.random())
    each.retryDelayMs = Math.min(maxRetryDelayMs, each.retryDelayMs * 2)
    if (isClosed || each.resolution !== undefined || now - each.change.since < times.maxAgeMs) return
    const evidence = 'the upstream gave no answer within the maximum age'
    await decide(each, 'undecided', evidence, []).catch(() => undefined)
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
        retryDelayMs: initialRetryDelayMs,
        absentSince: undefined,
        resolution: undefined,
      })
      schedule()
    },
    listInDoubtIntents: () => [...pending].map(({ change }) => change.intent),
    async close() {
      isClosed = true
      clearTimeout(timer)
      closing.abort()
      await running
    },
  }
}

function undecidedResolution(evidence: string): ResolutionDecision {
  return { result: 'undecided', evidence }
}
