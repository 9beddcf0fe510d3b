import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { formatIdentifierText } from '../catalog-api/identifier-text.ts'
import {
  type DurableEnd,
  formatRecordKey,
  isForeignRecord,
  listSegments,
  type LogSegment,
  parseStoredRecord,
  type StoredRecord,
} from '../audit/index.ts'
import { readLines } from '../lib/fs/read-lines.ts'
import { ignoreMissing } from '../lib/fs/system-error.ts'

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
  /** As commands read it. */
  readonly id: string
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
  readonly seal: (HashedRecordReference & { readonly time: string }) | undefined
}

const maxChanges = 50
/** Maximum bytes read from the end of a file. */
const tailBytes = 256 * 1024

/**
 * Reads only new records, and only on request; rejects if a file cannot be read. Records are not verified: that is the
 * task of `audit verify`.
 */
export function createNewestChangesReader(
  folder: string,
  durable: () => DurableEnd,
): () => Promise<NewestChanges> {
  const changes = new Map<string, RecordedChange>()
  let seal: NewestChanges['seal']
  let position: { readonly file: string; readonly offset: number } | undefined
  let polling: Promise<NewestChanges> | undefined

  async function poll(): Promise<NewestChanges> {
    const end = durable()
    if (position?.file !== end.file) await readPreviousSegment(end.file)
    await readTail(end.file, position?.file === end.file ? position.offset : 0, end.length)
    position = { file: end.file, offset: end.length }
    return { changes: [...changes.values()].toReversed(), seal }
  }

  /** After a start, the newest changes are in it; later, what was written to it before the next one began. */
  async function readPreviousSegment(file: string): Promise<void> {
    const segments = (await listSegments(folder)).filter(({ isForeign }) => !isForeign)
    const previous = segments[segments.findIndex((segment) => segment.file === file) - 1]
    const found = previous && (await stat(join(folder, previous.file)).catch(ignoreMissing))
    const from = position?.file === previous?.file ? position?.offset : undefined
    if (!found || from === undefined) forgetUnfinished()
    if (previous && found) await readTail(previous.file, from ?? 0, found.size, previous).catch(ignoreMissing)
  }

  async function readTail(file: string, from: number, to: number, segment?: LogSegment): Promise<void> {
    const begin = Math.max(from, to - tailBytes)
    if (begin > from) forgetUnfinished()
    for await (const { bytes } of readLines(join(folder, file), { from: begin, to })) {
      // The tail of a file may begin in the middle of a line.
      const record = parseStoredRecord(bytes.toString('utf8'))
      if (record !== undefined && !(segment && isForeignRecord(segment, record))) addRecord(record)
    }
  }

  /** Records are skipped: a change that has no known result yet may have got it there. */
  function forgetUnfinished(): void {
    for (const [key, { outcome, resolved }] of changes) {
      const { result = 'unknown' } = resolved ?? outcome ?? {}
      if (result === 'unknown') changes.delete(key)
    }
  }

  function addRecord(record: StoredRecord): void {
    const { chain, seq, hash, time } = record
    const reference = { chain, seq, hash, time }
    if (record.kind === 'intent' && record.effect !== 'read') {
      addChange(formatRecordKey(chain, seq), createRecordedChange(record))
    } else if (record.kind === 'outcome') {
      const { result, status, version, durationMs } = record
      const outcome = { ...reference, result, status, version, durationMs }
      addResult(record.intentChain ?? chain, record.intentSeq, 'outcome', outcome)
    } else if (record.kind === 'resolved') {
      addResult(record.intentChain, record.intentSeq, 'resolved', { ...reference, result: record.result })
    } else if (record.kind === 'seal') {
      seal = reference
    }
  }

  function addChange(key: string, change: RecordedChange): void {
    changes.set(key, change)
    for (const oldest of changes.keys()) {
      if (changes.size <= maxChanges) break
      changes.delete(oldest)
    }
  }

  function addResult(
    chain: string,
    seq: number,
    member: 'outcome' | 'resolved',
    result: HashedRecordReference & RecordedResult,
  ): void {
    const key = formatRecordKey(chain, seq)
    const change = changes.get(key)
    if (change !== undefined) changes.set(key, { ...change, [member]: result })
  }

  return () => {
    polling ??= poll().finally(() => (polling = undefined))
    return polling
  }
}

function createRecordedChange(record: StoredRecord & { readonly kind: 'intent' }): RecordedChange {
  const { chain, seq, hash, rule, principal } = record
  return {
    time: record.time,
    requestId: record.request,
    operation: record.operation,
    isCommit: record.effect === 'commit',
    id: formatIdentifierText(record.id),
    objects: record.objects?.length ?? 0,
    principal: principal.name,
    client: record.client,
    upstream: record.upstream,
    rule: `${rule.policy}/${rule.rule}`,
    policyRevision: record.policyRevision,
    intent: { chain, seq, hash },
  }
}
