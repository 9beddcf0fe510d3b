import {
  type AuditRecord,
  describeResult,
  getIntentKey,
  getRecordKey,
  type SelectedRecord,
} from '../../audit/index.ts'
import { formatIdentifierText } from '../../catalog-api/index.ts'
import type { RuleReference } from '../../policy/index.ts'

/** A request in the audit log: the record of its intent or refusal, and those of its end. */
export type AuditEntry = ReturnType<typeof describeRequest> & {
  readonly outcome?: RecordedResult
  /** Resolution of an unknown outcome. */
  readonly resolved?: RecordedResult
}

interface RecordedResult {
  readonly result: string
  readonly status?: number | undefined
  readonly version?: number | undefined
  readonly durationMs?: number | undefined
  readonly position: string
}

type RequestRecord = AuditRecord<'intent' | 'refusal' | 'passThrough'>

/** Joins records, oldest first, to at most `max` requests, the newest first. Records without a known request are left out. */
export async function collectEntries(
  records: AsyncIterable<SelectedRecord>,
  max: number,
): Promise<readonly AuditEntry[]> {
  const entries = new Map<string, AuditEntry>()
  for await (const { record, intent } of records) {
    if (isRequest(record)) entries.set(getRecordKey(record), describeRequest(record))
    if (!('intentSeq' in record)) continue
    const key = getIntentKey(record)
    const entry = entries.get(key) ?? (intent && describeRequest(intent))
    if (entry !== undefined) entries.set(key, { ...entry, [record.kind]: describeEnd(record, intent) })
  }
  return [...entries.values()].slice(-max).toReversed()
}

function isRequest(record: AuditRecord): record is RequestRecord {
  return record.kind === 'intent' || record.kind === 'refusal' || record.kind === 'passThrough'
}

function describeEnd(
  record: AuditRecord<'outcome' | 'resolved'>,
  intent: SelectedRecord['intent'],
): RecordedResult {
  const result = describeResult({ record, intent })
  const { status, version, durationMs } = record.kind === 'outcome' ? record : {}
  return { result, status, version, durationMs, position: formatPosition(record) }
}

function describeRequest(record: RequestRecord) {
  const { time, request, principal, client } = record
  return {
    time,
    request,
    ...describeTarget(record),
    principal: principal?.name,
    credential:
      principal && [principal.method, principal.credentialId, principal.issuer].filter(Boolean).join(' '),
    groups: principal?.groups && [...principal.groups],
    client,
    position: formatPosition(record),
    ...describeDecision(record),
  }
}

function describeTarget(record: RequestRecord) {
  if (record.kind === 'passThrough')
    return { operation: `${record.method} ${record.prefix}`, id: record.path, objects: 0 }
  const { operation, id } = record
  const { objects = [], upstream } = record.kind === 'intent' ? record : {}
  /** `objects` is the number of further objects; the id is as commands read it. */
  return { operation, id: id && formatIdentifierText(id), objects: objects.length, upstream }
}

function describeDecision(record: RequestRecord): {
  readonly rule?: RuleReference | undefined
  readonly restrictedBy?: readonly RuleReference[] | undefined
  readonly policyRevision?: string | undefined
  readonly refusal?: ReturnType<typeof describeRefusal>
} {
  if (record.kind === 'passThrough') return {}
  const { rule, policyRevision } = record
  if (record.kind === 'refusal') return { rule, policyRevision, refusal: describeRefusal(record) }
  return { rule, policyRevision, restrictedBy: record.restrictedBy }
}

function describeRefusal(record: AuditRecord<'refusal'>) {
  const { status, reason, details = {} } = record
  const { needs, repeats } = details
  return {
    status,
    reason,
    /** Undefined if the policies did not refuse the request. */
    needs: typeof needs === 'string' ? needs : undefined,
    /** Number of further requests like this one in the minute before. */
    repeats: typeof repeats === 'number' ? repeats : undefined,
  }
}

/** In short; `audit verify` prints the whole hash. */
export function formatPosition({ chain, seq, hash }: { chain: string; seq: number; hash: string }): string {
  return `record ${seq} of ${chain}, hash ${hash.slice(0, 12)}`
}
