import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { formatRecordKey } from '../audit/records/hash-chain.ts'
import { parseStoredRecord, type StoredRecord } from '../audit/storage/read-audit-log.ts'
import { listChains } from '../audit/storage/segment-names.ts'
import type { DurableEnd } from '../audit/sinks/log-follower.ts'
import { readSegmentLines } from '../audit/storage/read-segment-lines.ts'
import { ignoreMissing } from '../lib/fs/system-error.ts'
import { getOperation } from '../catalog-api/operations.ts'

/** Position of a record in the log. */
interface HashedRecordReference {
  readonly chain: string
  readonly seq: number
  readonly hash: string
}

/** A commit or another change, with its records. */
export interface RecordedChange {
  readonly time: string
  readonly requestId: string
  readonly operation: string
  readonly isCommit: boolean
  readonly id: readonly string[]
  /** Number of additional objects. */
  readonly objects: number
  readonly principal: string
  readonly client: string
  readonly upstream: string
  /** `policy/rule`. */
  readonly rule: string
  readonly policyRevision: string
  readonly intent: HashedRecordReference
  readonly outcome?: HashedRecordReference & RecordedResult
  /** Resolution of an unknown outcome. */
  readonly resolved?: HashedRecordReference & RecordedResult
}

interface RecordedResult {
  readonly time: string
  readonly result: string
  readonly status?: number | undefined
  readonly version?: number | undefined
  readonly durationMs?: number | undefined
}

export interface NewestChanges {
  /** The newest first. */
  readonly changes: readonly RecordedChange[]
  /** The last signature. */
  readonly seal: (HashedRecordReference & { readonly time: string }) | undefined
}

const maxChanges = 50
/** Maximum bytes read from the end of a file. */
const tailBytes = 256 * 1024

/**
 * Follows the changes in the audit log of a folder. Nothing is read until requested, and then only what is new; rejects
 * if a file cannot be read. Records are not verified: that is the task of `audit verify`.
 */
export function createNewestChangesReader(
  folder: string,
  durable: () => DurableEnd,
): () => Promise<NewestChanges> {
  const changes = new Map<string, RecordedChange>()
  let seal: NewestChanges['seal']
  let location: { readonly file: string; readonly offset: number } | undefined
  let looking: Promise<NewestChanges> | undefined

  async function poll(): Promise<NewestChanges> {
    const end = durable()
    if (location === undefined) await readEnd(await segmentBefore(end.file), 0)
    // Written to the previous file before the next one began.
    else if (location.file !== end.file) await readEnd(location.file, location.offset)
    const from = location?.file === end.file ? location.offset : 0
    await readPart(end.file, Math.max(from, end.length - tailBytes), end.length)
    location = { file: end.file, offset: end.length }
    return { changes: [...changes.values()].toReversed(), seal }
  }

  /** After a start, the newest changes are in the previous segment. */
  async function segmentBefore(file: string): Promise<string | undefined> {
    const segments = (await listChains(folder)).flatMap((chain) => chain.segments)
    return segments[segments.indexOf(file) - 1]
  }

  async function readEnd(file: string | undefined, from: number): Promise<void> {
    const size = file && (await stat(join(folder, file)).catch(ignoreMissing))?.size
    if (file && size) await readPart(file, Math.max(from, size - tailBytes), size)
  }

  async function readPart(file: string, from: number, to: number): Promise<void> {
    const part = { from, to, bytes: tailBytes }
    const lines = await readSegmentLines(join(folder, file), part).catch(ignoreMissing)
    for (const { text } of lines ?? []) {
      // The tail of a file may begin in the middle of a line.
      const record = parseStoredRecord(text)
      if (record !== undefined) take(record)
    }
  }

  function take(record: StoredRecord): void {
    const { chain, seq, hash, time } = record
    const at = { chain, seq, hash, time }
    if (record.kind === 'intent' && record.effect !== 'read') {
      addChange(formatRecordKey(chain, seq), createRecordedChange(record))
    } else if (record.kind === 'outcome') {
      const { result, status, version, durationMs } = record
      const what = { ...at, result, status, version, durationMs }
      end(record.intentChain ?? chain, record.intentSeq, 'outcome', what)
    } else if (record.kind === 'resolved') {
      end(record.intentChain, record.intentSeq, 'resolved', { ...at, result: record.result })
    } else if (record.kind === 'seal') {
      seal = at
    }
  }

  function addChange(key: string, change: RecordedChange): void {
    changes.set(key, change)
    for (const oldest of changes.keys()) {
      if (changes.size <= maxChanges) break
      changes.delete(oldest)
    }
  }

  function end(
    chain: string,
    seq: number,
    how: 'outcome' | 'resolved',
    what: HashedRecordReference & RecordedResult,
  ): void {
    const key = formatRecordKey(chain, seq)
    const change = changes.get(key)
    if (change !== undefined) changes.set(key, { ...change, [how]: what })
  }

  return () => {
    looking ??= poll().finally(() => (looking = undefined))
    return looking
  }
}

function createRecordedChange(record: StoredRecord & { readonly kind: 'intent' }): RecordedChange {
  const { chain, seq, hash, rule, principal } = record
  return {
    time: record.time,
    requestId: record.request,
    operation: record.operation,
    isCommit: getOperation(record.operation).effect === 'commit',
    id: record.id,
    objects: record.objects?.length ?? 0,
    principal: principal.name,
    client: record.client,
    upstream: record.upstream,
    rule: `${rule.policy}/${rule.rule}`,
    policyRevision: record.policyRevision,
    intent: { chain, seq, hash },
  }
}
