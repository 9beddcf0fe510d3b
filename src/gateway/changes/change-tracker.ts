import type { IntentReceipt } from '../../audit/log/audit-log.ts'
import { toChangeEffect, planLookups, type InDoubtChange } from '../../audit/resolution/in-doubt-changes.ts'
import type {
  Details,
  IntentEntry,
  CreatedVersion,
  ObjectId,
  OutcomeEntry,
  OutOfBandVersions,
} from '../../audit/records/audit-record.ts'
import { getBranch, type TableHistory } from '../../audit/resolution/table-history.ts'
import { getOperation } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'

/** Follows changes from their intent to what became of them. */
export interface ChangeTracker {
  /** The version that a commit follows, as `IntentEntry.before` has it. */
  getPreviousVersion(operation: Permission, id: ObjectId, details: Details | undefined): number | undefined
  /** A change is about to be recorded. Whoever begins one ends it. */
  startChange(entry: IntentEntry): TrackedChange
}

/** A change between its intent and its outcome. */
export interface TrackedChange {
  readonly entry: IntentEntry
  /** Whether the change made a version that the response does not state, and `addVersion` may find. */
  lacksVersion(outcome: OutcomeEntry): boolean
  /** The outcome with the newest version that the upstream describes now, or without one. Never rejects. */
  addVersion(outcome: OutcomeEntry): Promise<OutcomeEntry>
  /** The outcome, with what it shows of versions that were made past this log. */
  complete(outcome: OutcomeEntry): OutcomeEntry
  /** Has it found out what became of the change, whose outcome is unknown, if its intent was recorded. */
  resolveLater(receipt: Promise<IntentReceipt>): void
}

interface ChangeTrackerOptions {
  readonly history: TableHistory
  /** The chain that intents are written to. */
  readonly chain: string
  /** Whether versions that were made past the log are recorded. */
  readonly isContinuous: boolean
  readonly resolve: (request: InDoubtChange) => void
  /** Asks for the newest version of the branch of a change; undefined if that could not be learnt. Never rejects. */
  readonly observeVersion: (entry: IntentEntry) => Promise<CreatedVersion | undefined>
  readonly onOutOfBand: (outOfBand: readonly OutOfBandVersions[], request: string) => void
  /** What became of a change, as far as it is known at once. */
  readonly onEnd: (entry: IntentEntry, result: OutcomeEntry['result']) => void
}

/** Tracks the changes of one log. */
export function createChangeTracker(options: ChangeTrackerOptions): ChangeTracker {
  const { history, chain, isContinuous, resolve, observeVersion, onOutOfBand, onEnd } = options
  return {
    getPreviousVersion(operation, id, details) {
      const version = details?.['version']
      return operation === 'CreateTableVersion' && typeof version === 'number'
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
          // It only began: the version comes later.
          status !== 202 &&
          versions === undefined &&
          getOperation(entry.operation).versions !== undefined,
        async addVersion(outcome) {
          const made = await observeVersion(entry)
          return made === undefined ? outcome : { ...outcome, version: made.version, versions: [made] }
        },
        complete(outcome) {
          onEnd(entry, outcome.result)
          // What became of it is still open, and so is what else it explains.
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
