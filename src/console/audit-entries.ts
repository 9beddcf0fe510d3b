import {
  type AuditRecord,
  describeResult,
  getIntentKey,
  getRecordKey,
  type SelectedRecord,
} from '../audit/index.ts'
import { formatIdentifierText } from '../catalog-api/index.ts'
import { formatRule } from '../policy/index.ts'

/** A term with its text, which is good or bad news, or neither. */
export type Fact = readonly [term: string, text: string, isGood?: boolean]

/** A request in the audit log, as the page shows it. */
export type AuditEntry = ReturnType<typeof describeRequest>

type RequestRecord = AuditRecord<'intent' | 'refusal' | 'passThrough'>

interface RecordedRequest {
  readonly record: RequestRecord
  /** The outcome, and the resolution of an unknown one. */
  readonly ends: { readonly record: AuditRecord<'outcome' | 'resolved'>; readonly result: string }[]
}

/** Joins records, oldest first, to at most `max` requests, the newest first. Records without a known request are left out. */
export async function collectEntries(
  records: AsyncIterable<SelectedRecord>,
  max: number,
): Promise<readonly AuditEntry[]> {
  const requests = new Map<string, RecordedRequest>()
  for await (const { record, intent } of records) {
    if (isRequest(record)) requests.set(getRecordKey(record), { record, ends: [] })
    if (!('intentSeq' in record)) continue
    const key = getIntentKey(record)
    const request = requests.get(key) ?? (intent && { record: intent, ends: [] })
    if (request === undefined) continue
    requests.set(key, request)
    request.ends.push({ record, result: describeResult({ record, intent }) })
  }
  return [...requests.values()].slice(-max).toReversed().map(describeRequest)
}

function isRequest(record: AuditRecord): record is RequestRecord {
  return record.kind === 'intent' || record.kind === 'refusal' || record.kind === 'passThrough'
}

function describeRequest({ record, ends }: RecordedRequest) {
  const { time, request, principal, client } = record
  const { rule, policyRevision } = record.kind === 'passThrough' ? {} : record
  const { upstream, objects = [], restrictedBy = [] } = record.kind === 'intent' ? record : {}
  const { needs, repeats } = (record.kind === 'refusal' && record.details) || {}
  const version = ends.map((end) => end.record.kind === 'outcome' && end.record.version).find(Boolean)
  const state = describeState({ record, ends })
  const decided = record.kind === 'refusal' ? 'denied' : 'allowed'
  // A refusal that policies did not decide needs no permission.
  const undecided = typeof needs === 'string' ? 'no rule allows it' : 'details'
  return {
    ...describeTarget(record),
    notes: [
      ...(objects.length > 1 ? [`and ${objects.length} objects`] : []),
      ...(version ? [`version ${version}`] : []),
      ...(typeof repeats === 'number' ? [`and ${repeats} more in a minute`] : []),
    ],
    time,
    state,
    isGood: state === 'committed' || state === 'completed',
    principal: principal?.name,
    /** What decided the request. */
    summary: rule === undefined ? undecided : `${decided} by ${formatRule(rule)}`,
    facts: listStated([
      ['Needs', typeof needs === 'string' ? needs : undefined],
      ...restrictedBy.map((one) => ['Restricted by', formatRule(one)] as const),
      ['Request', request],
      [
        'Credential',
        principal && [principal.method, principal.credentialId, principal.issuer].filter(Boolean).join(' '),
      ],
      ['Groups', principal?.groups && ([...principal.groups].join(', ') || 'none')],
      ['Client', client],
      ['Upstream', upstream],
      ['Policies', policyRevision?.slice(0, 12)],
      ['Record', formatPosition(record)],
      ...ends.map(describeEnd),
    ]),
  }
}

function listStated(facts: readonly (readonly [term: string, text: string | undefined])[]): Fact[] {
  return facts.flatMap(([term, text]) => (text === undefined ? [] : [[term, text] as const]))
}

function describeTarget(record: RequestRecord) {
  if (record.kind === 'passThrough')
    return { operation: `${record.method} ${record.prefix}`, id: record.path }
  const { operation = 'no operation', id } = record
  return { operation, id: id && formatIdentifierText(id) }
}

function describeState({ record, ends }: RecordedRequest): string {
  if (record.kind === 'refusal') return `${record.status} ${record.reason}`
  return ends.at(-1)?.result ?? 'in progress'
}

function describeEnd({ record, result }: RecordedRequest['ends'][number]) {
  const { status, durationMs } = record.kind === 'outcome' ? record : {}
  const after = durationMs === undefined ? '' : ` after ${Math.round(durationMs)} ms`
  const text = `${result}${status === undefined ? '' : ` (${status})`}${after}, ${formatPosition(record)}`
  return [record.kind === 'outcome' ? 'Outcome' : 'Resolved', text] as const
}

/** In short; `audit verify` prints the whole hash. */
export function formatPosition({ chain, seq, hash }: { chain: string; seq: number; hash: string }): string {
  return `record ${seq} of ${chain}, hash ${hash.slice(0, 12)}`
}
