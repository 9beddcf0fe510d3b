import type { IntentReceipt } from '../../audit/log.ts'
import { endOf, lookupsOf, type OpenQuestion } from '../../audit/open-questions.ts'
import type {
  Details,
  IntentEntry,
  MadeVersion,
  ObjectId,
  OutcomeEntry,
  OutOfBand,
} from '../../audit/records.ts'
import { branchOf, type TableHistory } from '../../audit/table-history.ts'
import { operationNamed } from '../../interface/operations.ts'
import type { Permission } from '../../interface/permissions.ts'

/** Follows changes from their intent to what became of them. */
export interface ChangeTracking {
  /** The version that a commit follows, as `IntentEntry.before` has it. */
  before(operation: Permission, id: ObjectId, details: Details | undefined): number | undefined
  /** A change is about to be recorded. Whoever begins one ends it. */
  begin(entry: IntentEntry): TrackedChange
}

/** A change between its intent and its outcome. */
export interface TrackedChange {
  readonly entry: IntentEntry
  /** Whether the change made a version that the response does not state, and `addVersion` may find. */
  lacksVersion(outcome: OutcomeEntry): boolean
  /** The outcome with the newest version that the upstream describes now, or without one. Never rejects. */
  addVersion(outcome: OutcomeEntry): Promise<OutcomeEntry>
  /** The outcome, with what it shows of versions that were made past this log. */
  end(outcome: OutcomeEntry): OutcomeEntry
  /** Has it found out what became of the change, whose outcome is unknown, if its intent was recorded. */
  ask(receipt: Promise<IntentReceipt>): void
}

interface TrackingParts {
  readonly history: TableHistory
  /** The chain that intents are written to. */
  readonly chain: string
  /** Whether versions that were made past the log are recorded. */
  readonly isContinuous: boolean
  readonly ask: (question: OpenQuestion) => void
  /** Asks for the newest version of the branch of a change; undefined if that could not be learnt. Never rejects. */
  readonly observe: (entry: IntentEntry) => Promise<MadeVersion | undefined>
  readonly onOutOfBand: (outOfBand: readonly OutOfBand[], request: string) => void
  /** What became of a change, as far as it is known at once. */
  readonly onEnd: (entry: IntentEntry, result: OutcomeEntry['result']) => void
}

/** Tracks the changes of one log. */
export function trackChanges(parts: TrackingParts): ChangeTracking {
  const { history, chain, isContinuous, ask, observe, onOutOfBand, onEnd } = parts
  return {
    before(operation, id, details) {
      const version = details?.['version']
      return operation === 'CreateTableVersion' && typeof version === 'number'
        ? version - 1
        : history.newest(id, branchOf(details))
    },
    begin(entry) {
      const change = history.begin(entry)
      return {
        entry,
        lacksVersion: ({ result, status, versions }) =>
          isContinuous &&
          result === 'committed' &&
          // It only began: the version comes later.
          status !== 202 &&
          versions === undefined &&
          operationNamed(entry.operation).versions !== undefined,
        async addVersion(outcome) {
          const made = await observe(entry)
          return made === undefined ? outcome : { ...outcome, version: made.version, versions: [made] }
        },
        end(outcome) {
          onEnd(entry, outcome.result)
          // What became of it is still open, and so is what else it explains.
          if (outcome.result === 'unknown') return outcome
          const outOfBand = history.end(change, endOf(outcome))
          if (!isContinuous || outOfBand.length === 0) return outcome
          onOutOfBand(outOfBand, entry.request)
          return { ...outcome, outOfBand }
        },
        ask(receipt) {
          if (entry.effect === 'read') return
          const since = Date.now()
          receipt.then(
            ({ seq, request, tables }) => {
              const intent = { chain, seq, request, tables }
              ask({ intent, change, upstream: entry.upstream, lookups: lookupsOf(entry), since })
            },
            () => history.end(change, 'unclear'),
          )
        },
      }
    },
  }
}
