import type { IntentReceipt } from '../../audit/log/audit-log.ts'
import { toChangeEffect, planLookups, type InDoubtChange } from '../../audit/in-doubt/in-doubt-changes.ts'
import type {
  Details,
  IntentEntry,
  CreatedVersion,
  ObjectId,
  OutcomeEntry,
  OutOfBandVersions,
} from '../../audit/records/audit-record.ts'
import { getBranch, type TableHistory } from '../../audit/in-doubt/table-history.ts'
import { findOperation } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'

/** Tracks changes from their intent to their outcome. */
export interface ChangeTracker {
  /** The version that a commit follows, for `IntentEntry.before`. */
  getPreviousVersion(operation: Permission, id: ObjectId, details: Details | undefined): number | undefined
  /** Starts tracking a change whose intent is about to be recorded. The caller must end every change. */
  startChange(entry: IntentEntry): TrackedChange
}

/** A change between its intent and its outcome. */
export interface TrackedChange {
  readonly entry: IntentEntry
  /** Whether the change created a version that the response does not state, and that `addVersion` may find. */
  lacksVersion(outcome: OutcomeEntry): boolean
  /** Returns the outcome with the newest version that the upstream describes, or unchanged. Never rejects. */
  addVersion(outcome: OutcomeEntry): Promise<OutcomeEntry>
  /** Completes the outcome with evidence of versions that were created outside this log. */
  complete(outcome: OutcomeEntry): OutcomeEntry
  /** Resolves the unknown outcome of the change in the background, if its intent was recorded. */
  resolveLater(receipt: Promise<IntentReceipt>): void
}

/** A part of a multipart write has another effect than the operation that uploads it. */
function createsVersion({ operation, effect }: IntentEntry): boolean {
  const definition = findOperation(operation)
  return definition?.versions !== undefined && definition.effect === effect
}

interface ChangeTrackerOptions {
  readonly history: TableHistory
  /** The chain of the intents. */
  readonly chain: string
  /** Whether out-of-band versions are recorded. */
  readonly isContinuous: boolean
  readonly resolve: (request: InDoubtChange) => void
  /** Fetches the newest version of the branch of a change; undefined if it could not be fetched. Never rejects. */
  readonly observeVersion: (entry: IntentEntry) => Promise<CreatedVersion | undefined>
  readonly onOutOfBand: (outOfBand: readonly OutOfBandVersions[], request: string) => void
  /** Called with the immediate result of a change. */
  readonly onEnd: (entry: IntentEntry, result: OutcomeEntry['result']) => void
}

export function createChangeTracker(options: ChangeTrackerOptions): ChangeTracker {
  const { history, chain, isContinuous, resolve, observeVersion, onOutOfBand, onEnd } = options
  return {
    getPreviousVersion(operation, id, details) {
      const version = details?.['version']
      return findOperation(operation)?.statesVersion === true && typeof version === 'number'
        ? version - 1
        : history.getNewestVersion(id, getBranch(details))
    },
    startChange(entry) {
      const change = history.begin(entry)
      return {
        entry,
        lacksVersion: ({ result, status, versions }) =>
          isContinuous &&
          result === 'committed' &&
          // 202 means started: the version is created later.
          status !== 202 &&
          versions === undefined &&
          createsVersion(entry),
        async addVersion(outcome) {
          const made = await observeVersion(entry)
          return made === undefined ? outcome : { ...outcome, version: made.version, versions: [made] }
        },
        complete(outcome) {
          onEnd(entry, outcome.result)
          // The outcome is unknown, so it explains no versions yet.
          if (outcome.result === 'unknown') return outcome
          const outOfBand = history.end(change, toChangeEffect(outcome))
          if (!isContinuous || outOfBand.length === 0) return outcome
          onOutOfBand(outOfBand, entry.request)
          return { ...outcome, outOfBand }
        },
        resolveLater(receipt) {
          if (entry.effect === 'read') return
          const since = Date.now()
          receipt.then(
            ({ seq, request, tables }) => {
              const intent = { chain, seq, request, tables }
              resolve({ intent, change, upstream: entry.upstream, lookups: planLookups(entry), since })
            },
            () => history.end(change, 'unclear'),
          )
        },
      }
    },
  }
}
