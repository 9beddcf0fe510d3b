import {
  type AuditLog,
  type Details,
  getBranch,
  type IntentEntry,
  type IntentReference,
  KnownVersions,
  type ObjectId,
  type OutcomeEntry,
  planLookups,
  readInDoubtChanges,
} from '../../audit/index.ts'
import { CatalogError, findOperation, type Permission } from '../../catalog-api/index.ts'
import type { Logger, Metrics } from '../../observability/index.ts'
import { createOutcomeResolver, type ResolutionTimes } from './outcome-resolver.ts'
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

interface ChangeTrackerOptions {
  readonly audit: AuditLog
  /** Folder of the audit log. */
  readonly folder: string
  readonly upstreams: Upstreams
  readonly metrics: Metrics
  readonly log: Logger
  readonly times?: Partial<ResolutionTimes> | undefined
}

/**
 * Reads in-doubt changes from the newest part of the audit log, starts to resolve them, and tracks new changes. Rejects if
 * the log cannot be read.
 */
export async function startChangeTracker(options: ChangeTrackerOptions) {
  const { audit, folder, upstreams, metrics, log, times } = options
  const known = new KnownVersions()
  const inDoubt = await readInDoubtChanges(folder, known)
  metrics.audit_in_doubt_changes(() => resolver.listInDoubtIntents().length)
  const resolver = createOutcomeResolver({
    audit,
    known,
    upstreams: upstreams.all,
    times,
    onResolved({ result, evidence }, { intent: { request } }) {
      metrics.audit_resolutions_total.inc({ result })
      log.info({ requestId: request, result, evidence }, 'in-doubt change resolved')
    },
  })
  for (const change of inDoubt) resolver.add(change)

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
          if (isInDoubt) resolver.add({ intent, entry, lookups: planLookups(entry), since })
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
    /** Lists the intents of in-doubt changes that are being resolved. */
    listInDoubtIntents: () => resolver.listInDoubtIntents(),
    /** Aborts lookups; the next start resumes unresolved changes. */
    close: () => resolver.close(),
  }
}
