import { member, membersText, quoted } from './json-text.ts'
import type {
  IntentPlace,
  ObjectId,
  OpenIntent,
  OutcomeEntry,
  RecordBodies,
  RecordKind,
  ResolvedEntry,
} from './records.ts'
import { timestamp } from './timestamp.ts'

/** A record that has no place in a chain yet. */
export interface LooseRecord {
  readonly kind: RecordKind
  readonly time: string
  /** Its own members as JSON, without braces. */
  readonly members: string
  /** The tables that it speaks of. */
  readonly tables: readonly ObjectId[]
}

/** A record of now. Throws `TypeError` for a body that is no JSON. */
export function looseRecord<Kind extends RecordKind>(
  kind: Kind,
  body: RecordBodies[Kind],
  tables: readonly ObjectId[] = [],
): LooseRecord {
  return { kind, time: timestamp(), members: membersText(body), tables }
}

/** The outcome, of now, of an intent in the same chain. Put together by hand, as there is one for every change. */
export function outcomeRecord(intent: OpenIntent, entry: OutcomeEntry): LooseRecord {
  const { request, seq, tables } = intent
  const { result, status, version, versions, upload, outOfBand, durationMs, details } = entry
  const members =
    `"request":${quoted(request)},"intentSeq":${seq},"result":"${result}"` +
    member('status', status) +
    member('version', version) +
    member('versions', versions) +
    member('upload', upload) +
    member('outOfBand', outOfBand) +
    member('durationMs', durationMs) +
    member('details', details)
  return { kind: 'outcome', time: timestamp(), members, tables }
}

/** What an unknown outcome turned out to be, now. */
export function resolvedRecord(intent: IntentPlace, entry: ResolvedEntry): LooseRecord {
  const { request, seq: intentSeq, chain: intentChain, tables } = intent
  const { result, evidence, looks, versions, outOfBand } = entry
  const facts = { result, evidence, looks, ...(versions && { versions }), ...(outOfBand && { outOfBand }) }
  return looseRecord('resolved', { request, intentSeq, intentChain, ...facts }, tables)
}
