import { memberToJson, membersToJson, stringToJson } from './json-text.ts'
import type {
  IntentReference,
  ObjectId,
  OpenIntent,
  OutcomeEntry,
  RecordBodies,
  RecordKind,
  ResolvedEntry,
} from './audit-record.ts'
import { currentTimestamp } from '../../lib/time/current-timestamp.ts'

/** A record that has no position in a chain yet. */
export interface UnchainedRecord {
  readonly kind: RecordKind
  readonly time: string
  /** Its own members as JSON, without braces. */
  readonly members: string
  readonly tables: readonly ObjectId[]
}

/** Creates a record, with the current time unless another is given. Throws `TypeError` if the body is not valid JSON. */
export function createRecord<Kind extends RecordKind>(
  kind: Kind,
  body: RecordBodies[Kind],
  tables: readonly ObjectId[] = [],
  time = currentTimestamp(),
): UnchainedRecord {
  return { kind, time, members: membersToJson(body), tables }
}

/** The JSON is written by hand, because there is one outcome for every change. */
export function createOutcomeRecord(intent: OpenIntent, entry: OutcomeEntry): UnchainedRecord {
  const { request, seq, tables } = intent
  const { result, status, version, versions, upload, durationMs, details } = entry
  const members =
    `"request":${stringToJson(request)},"intentSeq":${seq},"result":"${result}"` +
    memberToJson('status', status) +
    memberToJson('version', version) +
    memberToJson('versions', versions) +
    memberToJson('upload', upload) +
    memberToJson('durationMs', durationMs) +
    memberToJson('details', details)
  return { kind: 'outcome', time: currentTimestamp(), members, tables }
}

export function createResolvedRecord(intent: IntentReference, entry: ResolvedEntry): UnchainedRecord {
  const { request, seq: intentSeq, chain: intentChain, tables } = intent
  return createRecord('resolved', { request, intentSeq, intentChain, ...entry }, tables)
}
