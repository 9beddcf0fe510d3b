/**
 * The audit log. `openAuditLog` writes: a change whose intent could not be made durable is refused. All readers skip and
 * report lines that are no records of the log; `verifyAuditLog` reports changed, removed and added ones.
 */
export { clockToleranceMs, findUnexplained, type ListedVersion } from './compare/find-unexplained.ts'
export { type Comparison, readComparison, saveComparison } from './compare/last-comparison.ts'
export { createRecordedVersions, type RecordedVersions } from './compare/recorded-versions.ts'
export {
  decideResolution,
  type InDoubtChange,
  type Lookup,
  type LookupResult,
  planLookups,
  readInDoubtChanges,
  type ResolutionDecision,
} from './in-doubt/in-doubt-changes.ts'
export { getBranch, KnownVersions } from './in-doubt/known-versions.ts'
export { type AuditLog, type AuditLogOptions, checkAuditFolder, openAuditLog } from './log/audit-log.ts'
export type { AuditObserver } from './log/group-commit.ts'
export type { Retention } from './log/retention.ts'
export {
  describeResult,
  getRequestRecord,
  passThroughOperation,
  type RecordFilter,
  type SelectedRecord,
  type Selection,
  selectRecords,
} from './query/select-records.ts'
export {
  type AuditedObject,
  type AuditedPrincipal,
  type AuditRecord,
  type CreatedVersion,
  type Details,
  type IntentEntry,
  type IntentReference,
  isJson,
  type ObjectId,
  type OutcomeEntry,
  type RefusalEntry,
  type ResolvedEntry,
  type UploadFacts,
} from './records/audit-record.ts'
export { factsFormat, formatFactDetails, listKeys, truncateDetail } from './records/fact-details.ts'
export { getIntentKey, getRecordKey } from './records/hash-chain.ts'
export { idToJson, memberToJson } from './records/json-text.ts'
export { readRecordedCall } from './records/recorded-call.ts'
export { filterMembers } from './records/redaction.ts'
export { readSealKey, readSealVerifier } from './records/seal-key.ts'
export { openSinks, type SinkObserver, type Sinks } from './sinks/open-sinks.ts'
export { listSegments } from './storage/log-segments.ts'
export { type LogProblem, readAuditLog, readNewestRecords } from './storage/read-audit-log.ts'
export { verifyAuditLog, type VerifyReport } from './verify/verify-audit-log.ts'
