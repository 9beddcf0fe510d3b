import { readSegment, rejectProblem, type ReportProblem } from '../storage/read-audit-log.ts'
import { listSegments, skipSegmentsBefore, type LogSegment } from '../storage/log-segments.ts'
import { memoize, withoutReserve } from '../../lib/index.ts'
import { LRUCache } from 'lru-cache'
import { getIntentKey, getRecordKey } from '../records/hash-chain.ts'
import { isWithin, permissionGroups } from '../../catalog-api/index.ts'
import type { AuditRecord, IntentEntry, ObjectId } from '../records/audit-record.ts'
import { qualifiedRuleName } from '../../policy/index.ts'

/** A request of a record: changed something, or may have; read; or was refused, by policies or for its credential. */
export type RequestKind = keyof typeof recordsOfKind

const recordsOfKind = {
  change: ['intent', 'outcome', 'resolved', 'passThrough'],
  read: ['intent', 'outcome', 'resolved'],
  refusal: ['refusal'],
} as const satisfies Record<string, readonly AuditRecord['kind'][]>

/** Criteria for records; an absent criterion matches all. */
export interface RecordFilter {
  /** Request id: `instance` of an error, and the header `x-request-id`; of 8 characters or more, also the start of one. */
  readonly request?: string | undefined
  /** A table or namespace, with all objects beneath it. */
  readonly object?: ObjectId | undefined
  /** Includes outcomes of its changes, its refused requests, and changes of keys by or for it. */
  readonly principal?: string | undefined
  /** An operation, or a group of operations such as `write`. */
  readonly operation?: string | undefined
  /** Id of the rule that allowed or denied the request, alone or as `policy/rule`. */
  readonly rule?: string | undefined
  readonly kinds?: readonly RequestKind[] | undefined
  /** Inclusive start of the time range of the records; `until` is exclusive. */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

export interface Selection extends RecordFilter {
  /** Maximum number of records: the newest ones. */
  readonly last?: number | undefined
}

export interface SelectedRecord {
  readonly record: AuditRecord
  /** Of an outcome or a resolution. */
  readonly intent?: AuditRecord<'intent'> | undefined
}

/** The result of a request: a read is completed, a change committed. Empty for a record of no end. */
export function describeResult({ record, intent }: SelectedRecord): string {
  if (record.kind !== 'outcome' && record.kind !== 'resolved') return ''
  return record.result === 'committed' && intent?.effect === 'read' ? 'completed' : record.result
}

/**
 * Selects from a log, oldest first. An outcome has the operation, principal and rule of its intent.
 * Segments that end before the time range are not read, nor older ones than the newest records of `last`, nor records
 * without the text of the request or object. `onProblem` is called for every line that is not a record of the log.
 */
export async function* selectRecords(
  folder: string,
  { last, ...filter }: Selection,
  onProblem: ReportProblem = rejectProblem,
): AsyncGenerator<SelectedRecord, void> {
  const all = await listSegments(folder)
  const segments = skipSegmentsBefore(all, filter.since)
  const intents = createIntentFinder(folder, all)
  const isWanted = createLineFilter(filter)
  yield* last === undefined ? selectFrom(segments) : await selectLast(last)

  async function selectLast(count: number): Promise<readonly SelectedRecord[]> {
    let newest: readonly SelectedRecord[] = []
    for (const segment of segments.toReversed()) {
      newest = [...(await collectLast(selectFrom([segment]), count - newest.length)), ...newest]
      if (newest.length === count) break
    }
    return newest
  }

  async function* selectFrom(some: readonly LogSegment[]): AsyncGenerator<SelectedRecord, void> {
    for (const segment of some) {
      for await (const record of readSegment(folder, segment, onProblem, { isWanted })) {
        const intent = intents.track(record)
        if (!matchesRecord(record, filter)) continue
        const selected = { record, intent: intent ?? (await intents.find(record)) }
        if (matchesRequest(selected, filter)) yield selected
      }
    }
  }
}

/** Returns the last items of a sequence. Retains at most twice as many. */
async function collectLast<Item>(items: AsyncIterable<Item>, count: number): Promise<readonly Item[]> {
  const newest: Item[] = []
  for await (const item of items) {
    newest.push(item)
    // Trimmed rarely: moving the rest for each item would be slow.
    if (newest.length >= 2 * count) newest.splice(0, newest.length - count)
  }
  return newest.slice(-count)
}

/** The request of a record; the operation is its name, or `PassThrough`. */
type RequestRecord = { readonly operation?: string | undefined } & {
  readonly [Member in 'id' | 'principal' | 'rule' | 'objects' | 'effect']?: IntentEntry[Member] | undefined
}

export function getRequestRecord({ record, intent }: SelectedRecord): RequestRecord | undefined {
  if (record.kind === 'passThrough') return { operation: passThroughOperation, principal: record.principal }
  return record.kind === 'intent' || record.kind === 'refusal' ? record : intent
}

/** Stands for the operation in records of pass-through routes. */
export const passThroughOperation = 'PassThrough'

/** Finds the lines that may be of selected records, which are written with `JSON.stringify`. */
function createLineFilter({ request, object }: RecordFilter): (line: Buffer) => boolean {
  if (request !== undefined) {
    const start = JSON.stringify(request).slice(0, -1)
    return (line) => line.includes(start)
  }
  const text = JSON.stringify(object ?? []).slice(1, -1)
  // An outcome of a change that concerns no table names no object.
  return (line) => line.includes(text) || !line.includes('"tables":')
}

function matchesRecord(record: AuditRecord, { request, kinds, since, until }: RecordFilter): boolean {
  const time = Date.parse(record.time)
  return (
    (since === undefined || time >= since.getTime()) &&
    (until === undefined || time < until.getTime()) &&
    (request === undefined || ('request' in record && isRequest(record.request, request))) &&
    (kinds === undefined || kinds.some((kind) => recordsOfKind[kind].some((one) => one === record.kind)))
  )
}

const minPrefixLength = 8

function isRequest(id: string, wanted: string): boolean {
  return wanted.length < minPrefixLength ? id === wanted : id.startsWith(wanted)
}

/** The criteria that concern the request, which an outcome has from its intent. */
function matchesRequest(selected: SelectedRecord, filter: RecordFilter): boolean {
  const { principal, operation, rule, object, kinds } = filter
  const request = getRequestRecord(selected)
  return (
    (object === undefined || listObjects(selected).some((id) => isWithin(id, object))) &&
    (kinds === undefined ||
      request?.effect === undefined ||
      kinds.includes(request.effect === 'read' ? 'read' : 'change')) &&
    (principal === undefined || listPrincipals(selected).includes(principal)) &&
    (operation === undefined || listOperations(operation).includes(request?.operation)) &&
    (rule === undefined ||
      (request?.rule !== undefined && [qualifiedRuleName(request.rule), request.rule.rule].includes(rule)))
  )
}

/** The operations of a group, or one. */
function listOperations(name: string): readonly (string | undefined)[] {
  return permissionGroups.get(name) ?? [name]
}

/** Of a reload of keys, those whose keys changed and who changed them. */
function listPrincipals(selected: SelectedRecord): readonly (string | undefined)[] {
  const { record } = selected
  if (record.kind === 'reload') return (record.keys ?? []).flatMap(({ principal, by }) => [principal, by])
  return [getRequestRecord(selected)?.principal?.name]
}

function listObjects(selected: SelectedRecord): readonly ObjectId[] {
  const { id } = getRequestRecord(selected) ?? {}
  return [...(selected.record.tables ?? []).map((table) => table.id), ...(id === undefined ? [] : [id])]
}

/** Retained intents. Only more concurrent changes than this would exceed it. */
const maxIntents = 10_000

/**
 * Finds the intents of outcomes and resolutions: these alone contain neither the principal nor the operation. Reads each
 * segment at most once, and retains only intents that later segments may refer to.
 */
function createIntentFinder(folder: string, segments: readonly LogSegment[]) {
  const recent = new LRUCache<string, AuditRecord<'intent'>>(withoutReserve(maxIntents))
  const byFile = new Map(segments.map((segment) => [segment.file, segment]))
  const readOpenIntents = memoize(async (file: string) => {
    const open = new Map<number, AuditRecord<'intent'>>()
    const segment = byFile.get(file)
    for await (const record of segment ? readSegment(folder, segment, () => undefined) : []) {
      if (record.kind === 'intent') open.set(record.seq, record)
      // An unknown outcome is resolved later.
      else if (record.kind === 'outcome' && record.result !== 'unknown' && record.intentChain === undefined)
        open.delete(record.intentSeq)
    }
    return open
  })
  return {
    /** Must be called for each record that is read. Returns the intent of a record if it was read before. */
    track(record: AuditRecord): AuditRecord<'intent'> | undefined {
      if (record.kind === 'intent') recent.set(getRecordKey(record), record)
      return 'intentSeq' in record ? recent.get(getIntentKey(record)) : undefined
    },
    /** Reads the segments of the log; undefined if the intent is not in it. */
    async find(record: AuditRecord): Promise<AuditRecord<'intent'> | undefined> {
      if (!('intentSeq' in record)) return undefined
      const { intentChain = record.chain, intentSeq } = record
      const segment = segments.findLast(
        ({ chain, isForeign, firstSeq = Infinity }) =>
          chain === intentChain && !isForeign && firstSeq <= intentSeq,
      )
      return segment && (await readOpenIntents(segment.file)).get(intentSeq)
    },
  }
}
