import type { IntentReceipt } from '../../audit/log.ts'
import { endOf, lookupsOf, type OpenQuestion } from '../../audit/open-questions.ts'
import type { Details, IntentEntry, ObjectId, OutcomeEntry, OutOfBand } from '../../audit/records.ts'
import { branchOf, type TableHistory } from '../../audit/table-history.ts'

/** Follows changes from their intent to what became of them. */
export interface ChangeTracking {
  /** A change is about to be recorded. Whoever begins one ends it. */
  begin(entry: IntentEntry): TrackedChange
}

/** A change between its intent and its outcome. */
export interface TrackedChange {
  /** The intent, with the versions that the tables had before. */
  readonly entry: IntentEntry
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
  readonly onOutOfBand: (outOfBand: readonly OutOfBand[], request: string) => void
  /** What became of a change, as far as it is known at once. */
  readonly onEnd: (entry: IntentEntry, result: OutcomeEntry['result']) => void
}

/** Tracks the changes of one log. */
export function trackChanges(parts: TrackingParts): ChangeTracking {
  const { history, chain, isContinuous, ask, onOutOfBand, onEnd } = parts
  return {
    begin(sent) {
      const entry = withBefore(sent, history)
      const change = history.begin(entry)
      return {
        entry,
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

function withBefore(sent: IntentEntry, history: TableHistory): IntentEntry {
  if (sent.effect !== 'commit') return sent
  const { operation, id, details, objects } = sent
  const before = versionBefore(operation, id, details, history)
  const entry = before === undefined ? sent : { ...sent, before }
  if (objects === undefined) return entry
  return {
    ...entry,
    objects: objects.map((object) => {
      const before = versionBefore(object.operation, object.id, object.details, history)
      return before === undefined ? object : { ...object, before }
    }),
  }
}

function versionBefore(
  operation: string,
  id: ObjectId,
  details: Details | undefined,
  history: TableHistory,
): number | undefined {
  const version = details?.['version']
  return operation === 'CreateTableVersion' && typeof version === 'number'
    ? version - 1
    : history.newest(id, branchOf(details))
}
