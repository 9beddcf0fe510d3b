import { setTimeout as pause } from 'node:timers/promises'
import {
  type AuditLog,
  type CreatedVersion,
  decideResolution,
  type Details,
  getBranch,
  type InDoubtChange,
  type IntentEntry,
  type IntentReference,
  KnownVersions,
  type ObjectId,
  type OutcomeEntry,
  planLookups,
  readInDoubtChanges,
  type ResolutionDecision,
  type ResolvedEntry,
} from '../../audit/index.ts'
import { CatalogError, findOperation, type Permission } from '../../catalog-api/index.ts'
import { Backoff } from '../../lib/index.ts'
import type { Logger, Metrics } from '../../observability/index.ts'
import { fetchVersion } from './outcome.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

/** An intent that was passed to the audit log. */
export interface WrittenIntent {
  readonly entry: IntentEntry
  /** Resolved, unless the record is asynchronous. */
  readonly receipt: Promise<IntentReference>
  /** Whether the response waits until the outcome is written. */
  readonly awaitsOutcome: boolean
}

/** Tracks changes from their intent to their outcome, and resolves those whose outcome is unknown in the background. */
export type ChangeTracker = Awaited<ReturnType<typeof startChangeTracker>>

/** In milliseconds. */
export interface ResolutionTimes {
  /**
   * How long the upstream may still execute a request after its outcome was lost. Absence counts only after this time,
   * and only if it was observed twice, this far apart.
   */
  readonly gracePeriodMs: number
  /** Changes older than this remain unknown. */
  readonly maxAgeMs: number
}

const defaultTimes: ResolutionTimes = { gracePeriodMs: 60_000, maxAgeMs: 72 * 3_600_000 }

interface ChangeTrackerOptions {
  readonly audit: Pick<AuditLog, 'recordOutcome' | 'recordResolution'>
  /** Folder of the audit log. */
  readonly folder: string
  readonly upstreams: Pick<Upstreams, 'all'>
  readonly metrics: Metrics
  readonly log: Logger
  /** Deviations from `defaultTimes`. */
  readonly times?: Partial<ResolutionTimes> | undefined
}

/**
 * Reads in-doubt changes from the newest part of the audit log, starts to resolve them, and tracks new changes. Rejects if
 * the log cannot be read.
 */
export async function startChangeTracker(options: ChangeTrackerOptions) {
  const { audit, folder, metrics } = options
  const known = new KnownVersions()
  const inDoubt = await readInDoubtChanges(folder, known)
  const { add, listInDoubtIntents, close } = createOutcomeResolver(options, known)
  metrics.audit_in_doubt_changes(() => listInDoubtIntents().length)
  for (const change of inDoubt) add(change)

  function count({ operation, effect }: IntentEntry, result: OutcomeEntry['result']): void {
    if (effect !== 'read') metrics.changes_total.labels(operation, effect, result).inc()
  }

  return {
    /** The version that a commit follows, for `IntentEntry.before`. */
    getPreviousVersion(
      operation: Permission,
      id: ObjectId,
      details: Details | undefined,
    ): number | undefined {
      const version = details?.['version']
      return findOperation(operation)?.statesVersion === true && typeof version === 'number'
        ? version - 1
        : known.getNewest(id, getBranch(details))
    },
    /**
     * Writes the outcome of a change. A committed change succeeds even if its outcome cannot be written: an error would
     * make clients repeat it. The log retains the intent, shows that it has no outcome, and counts the failure.
     */
    async recordOutcome({ entry, receipt, awaitsOutcome }: WrittenIntent, outcome: OutcomeEntry) {
      count(entry, outcome.result)
      if (outcome.result === 'committed') known.add(entry, outcome.versions)
      const isInDoubt = outcome.result === 'unknown' && entry.effect !== 'read'
      const since = Date.now()
      const written = receipt
        .then((intent) => {
          if (isInDoubt) add({ intent, entry, lookups: planLookups(entry), since })
          return audit.recordOutcome(intent, outcome, awaitsOutcome)
        })
        .catch((error: unknown) => {
          if (!(error instanceof CatalogError)) throw error
        })
      if (awaitsOutcome) await written
      else written.catch(() => undefined)
    },
    /** Counts a change that was not sent. */
    countFailed: (entry: IntentEntry) => count(entry, 'failed'),
    listInDoubtIntents,
    close,
  }
}

interface PendingResolution {
  readonly change: InDoubtChange
  lookups: number
  /** Time of the next lookup, and the delays after it if it fails. */
  nextAt: number
  readonly retryDelays: Backoff
  /** Time of the first observed absence that counts. */
  absentSince: number | undefined
}

/** The changes of one upstream, looked up one at a time: an upstream that does not respond delays no other. */
interface LookupQueue {
  readonly pending: Set<PendingResolution>
  running: Promise<void> | undefined
}

const maxPending = 10_000
const pollMs = 100
const retryDelays = { minMs: 500, maxMs: 5 * 60_000 }

/** Resolves in-doubt changes in the background. */
function createOutcomeResolver(options: ChangeTrackerOptions, known: KnownVersions) {
  const { audit, upstreams, metrics, log } = options
  const times = { ...defaultTimes, ...options.times }
  const queues = new Map<string, LookupQueue>()
  const closing = new AbortController()

  async function run(queue: LookupQueue): Promise<void> {
    while (queue.pending.size > 0 && !closing.signal.aborted) {
      await resolveDue(queue.pending)
      await pause(pollMs, undefined, { ref: false, signal: closing.signal }).catch(() => undefined)
    }
    queue.running = undefined
  }

  async function resolveDue(pending: Set<PendingResolution>): Promise<void> {
    for (const entry of [...pending].filter(({ nextAt }) => nextAt <= Date.now())) {
      if (closing.signal.aborted) return
      const { change } = entry
      try {
        const resolution = await resolve(entry)
        if (resolution === undefined) continue
        await audit.recordResolution(change.intent, resolution)
        if (resolution.result === 'committed') known.add(change.entry, resolution.versions)
        const { result, evidence } = resolution
        metrics.audit_resolutions_total.inc({ result })
        log.info({ requestId: change.intent.request, result, evidence }, 'in-doubt change resolved')
        pending.delete(entry)
      } catch {
        entry.nextAt = Date.now() + entry.retryDelays.next()
      }
    }
  }

  /** Returns the resolution, or undefined and sets the time of the next lookup. Rejects if a lookup failed. */
  async function resolve(entry: PendingResolution): Promise<ResolvedEntry | undefined> {
    const { since } = entry.change
    const found = await lookUp(entry).catch((error: unknown) => {
      if (Date.now() - since < times.maxAgeMs) throw error
    })
    if (found === undefined) {
      const evidence = 'the upstream gave no answer within the maximum age'
      return { result: 'undecided', evidence, lookups: entry.lookups }
    }
    const { result, evidence } = found.decision
    const versions = found.versions.length > 0 && { versions: found.versions }
    const resolvedAt = since + times.gracePeriodMs
    // The outcomes of other changes of this time may decide it.
    const isEarly = Date.now() < resolvedAt && (result === 'absent' || result === 'undecided')
    if (isEarly) entry.nextAt = resolvedAt
    else if (result !== 'absent') return { result, evidence, lookups: entry.lookups, ...versions }
    else if (entry.absentSince !== undefined)
      return { result: 'not_committed', evidence, lookups: entry.lookups, ...versions }
    else {
      entry.absentSince = Date.now()
      entry.nextAt = entry.absentSince + times.gracePeriodMs
    }
    return undefined
  }

  /** A batch is atomic: the first conclusive lookup decides for all entries. */
  async function lookUp(
    entry: PendingResolution,
  ): Promise<{ decision: ResolutionDecision; versions: CreatedVersion[] }> {
    const { change } = entry
    const upstream = upstreams.all.find(({ name }) => name === change.entry.upstream)
    const versions: CreatedVersion[] = []
    if (upstream === undefined)
      return { decision: undecidedResolution('its upstream is no longer configured'), versions }
    let decision = undecidedResolution('the change leaves no trace that identifies it')
    for (const lookup of change.lookups) {
      const found = await fetchVersion(lookup, upstream.own, closing.signal)
      entry.lookups += 1
      if (typeof found.found === 'object') versions.push(found.found)
      // The other versions of a committed batch are looked up for the record.
      if (decision.result !== 'committed') decision = decideResolution(change, lookup, found, known)
      if (decision.result === 'taken' || decision.result === 'absent') break
    }
    return { decision, versions }
  }

  return {
    /** Adds an in-doubt change. If there are too many, it stays unknown until the next start. */
    add: (change: InDoubtChange): void => {
      const { upstream } = change.entry
      const queue = queues.get(upstream) ?? { pending: new Set(), running: undefined }
      queues.set(upstream, queue)
      if (queue.pending.size >= maxPending || closing.signal.aborted) return
      queue.pending.add({
        change,
        lookups: 0,
        nextAt: Date.now(),
        retryDelays: new Backoff(retryDelays),
        absentSince: undefined,
      })
      queue.running ??= run(queue)
    },
    /** Lists the intents of unresolved changes. */
    listInDoubtIntents: (): IntentReference[] =>
      [...queues.values()].flatMap(({ pending }) => Array.from(pending, ({ change }) => change.intent)),
    /** Aborts lookups; the next start resumes unresolved changes. */
    close: async (): Promise<void> => {
      closing.abort()
      await Promise.all([...queues.values()].flatMap(({ running }) => running ?? []))
    },
  }
}

function undecidedResolution(evidence: string): ResolutionDecision {
  return { result: 'undecided', evidence }
}
