import {
  type AuditRecord,
  type DurableEnd,
  getIntentKey,
  getRecordKey,
  listSegments,
  readNewestRecords,
} from '../audit/index.ts'
import { formatIdentifierText } from '../catalog-api/index.ts'

interface HashedRecordReference {
  readonly chain: string
  readonly seq: number
  readonly hash: string
}

interface RecordedResult extends HashedRecordReference {
  readonly result: string
  readonly status?: number | undefined
  readonly version?: number | undefined
  readonly durationMs?: number | undefined
}

/** A commit or another change, with its records. */
export type RecordedChange = ReturnType<typeof describeIntent> & {
  readonly outcome?: RecordedResult
  /** Resolution of an unknown outcome. */
  readonly resolved?: RecordedResult
}

export interface NewestChanges {
  /** The newest first. */
  readonly changes: readonly RecordedChange[]
  readonly seal: { readonly seq: number; readonly time: string } | undefined
}

const maxChanges = 50
/** The rest is read only if the end has fewer changes, or no seal. */
const [usualBytes, maxBytes] = [128 * 1024, 2 * 1024 * 1024]

/**
 * Reads the newest changes of the last 2 MiB of the log on request; rejects if a file cannot be read. Records are not
 * verified: that is the task of `audit verify`.
 */
export function createNewestChangesReader(
  folder: string,
  durable: () => DurableEnd,
): () => Promise<NewestChanges> {
  let segments: Awaited<ReturnType<typeof listSegments>> = []
  let reading: Promise<NewestChanges> | undefined

  async function read(): Promise<NewestChanges> {
    // Listing opens every file of the log.
    if (segments.at(-1)?.file !== durable().file) segments = await listSegments(folder)
    const newest = await collectChanges(readNewestRecords(folder, segments, usualBytes, true))
    if (newest.changes.length === maxChanges && newest.seal !== undefined) return newest
    return collectChanges(readNewestRecords(folder, segments, maxBytes, true))
  }

  return () => {
    reading ??= read().finally(() => (reading = undefined))
    return reading
  }
}

async function collectChanges(records: AsyncIterable<AuditRecord>): Promise<NewestChanges> {
  const changes = new Map<string, RecordedChange>()
  let seal: NewestChanges['seal']
  for await (const record of records) {
    const { chain, seq, hash } = record
    if (record.kind === 'intent' && record.effect !== 'read') {
      changes.set(getRecordKey(record), describeIntent(record))
    } else if (record.kind === 'outcome') {
      const { result, status, version, durationMs } = record
      const outcome = { chain, seq, hash, result, status, version, durationMs }
      addTo(changes, getIntentKey(record), { outcome })
    } else if (record.kind === 'resolved') {
      const { result } = record
      addTo(changes, getIntentKey(record), { resolved: { chain, seq, hash, result } })
    } else if (record.kind === 'seal') {
      seal = { seq, time: record.time }
    }
  }
  return { changes: [...changes.values()].slice(-maxChanges).toReversed(), seal }
}

function addTo(
  changes: Map<string, RecordedChange>,
  key: string,
  end: Pick<RecordedChange, 'outcome' | 'resolved'>,
): void {
  const change = changes.get(key)
  if (change !== undefined) changes.set(key, { ...change, ...end })
}

function describeIntent(record: AuditRecord<'intent'>) {
  const { chain, seq, hash, rule, principal } = record
  return {
    time: record.time,
    requestId: record.request,
    operation: record.operation,
    isCommit: record.effect === 'commit',
    /** As commands read it. */
    id: formatIdentifierText(record.id),
    /** Number of additional objects. */
    objects: record.objects?.length ?? 0,
    principal: principal.name,
    client: record.client,
    upstream: record.upstream,
    rule: `${rule.policy}/${rule.rule}`,
    policyRevision: record.policyRevision,
    intent: { chain, seq, hash },
  }
}
