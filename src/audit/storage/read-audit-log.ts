import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileLine, readLines } from '../../lib/index.ts'
import type { AuditRecord } from '../records/audit-record.ts'
import { parseRecord } from '../records/hash-chain.ts'
import { listSegments, skipSegmentsBefore, type LogSegment } from './log-segments.ts'

export type StoredRecord = AuditRecord & { readonly hash: string }

/** What a log contains besides its records. */
export interface LogProblem {
  readonly file: string
  /** Counts from 1; absent if the problem concerns the whole file. */
  readonly line?: number
  readonly what: string
}

export type ReportProblem = (problem: LogProblem) => void

/**
 * Reads unverified records, oldest first, without the segments that end before a time. Damaged lines and those of another
 * writer are reported and skipped, or reject if nobody is to get the reports; an incomplete last line is ignored.
 */
export async function* readAuditLog(
  folder: string,
  since?: Date,
  onProblem: ReportProblem = rejectProblem,
): AsyncGenerator<StoredRecord, void> {
  for (const segment of skipSegmentsBefore(await listSegments(folder), since))
    yield* readSegment(folder, segment, onProblem)
}

/**
 * Reads the newest segments that have `bytes` together, or all, oldest record first: one that was just begun does not hide
 * those before. Skips all other lines.
 */
export async function* readNewestRecords(folder: string, bytes: number): AsyncGenerator<StoredRecord, void> {
  const segments = await listSegments(folder)
  const newest: LogSegment[] = []
  let left = bytes
  for (const segment of segments.toReversed()) {
    if (left <= 0) break
    newest.unshift(segment)
    left -= (await stat(join(folder, segment.file))).size
  }
  for (const segment of newest) yield* readSegment(folder, segment, () => undefined)
}

/** Reads the records of one segment, like `readAuditLog`; with `text`, only lines that contain it are parsed. */
export async function* readSegment(
  folder: string,
  segment: LogSegment,
  onProblem: ReportProblem,
  text = '',
): AsyncGenerator<StoredRecord, void> {
  for await (const { bytes, number, end } of readOwnLines(folder, segment, onProblem)) {
    if ((end === 'file' && segment.end === undefined) || !bytes.includes(text)) continue
    const record = parseStoredRecord(bytes.toString('utf8'))
    if (record !== undefined) yield record
    else onProblem({ file: segment.file, line: number, what: 'the line is not a record of format version 1' })
  }
}

/** Reads the lines of a segment up to the record that the next one follows, and reports how many lie behind it. */
export async function* readOwnLines(
  folder: string,
  { file, end, isForeign }: LogSegment,
  onProblem: ReportProblem,
): AsyncGenerator<FileLine, void> {
  const lastTail = Buffer.from(`"hash":"${end?.hash}"}`)
  let isEnded = isForeign
  let foreign: { readonly line: number; count: number } | undefined
  for await (const line of readLines(join(folder, file))) {
    if (isEnded) {
      foreign ??= { line: line.number, count: 0 }
      foreign.count += 1
    } else {
      yield line
      isEnded = line.bytes.subarray(-lastTail.length).equals(lastTail)
    }
  }
  if (foreign === undefined) return
  const what =
    `foreign: the log ended before this line when the next segment began, ` +
    `and another writer added it${foreign.count > 1 ? ` and the ${foreign.count - 1} after it` : ''}`
  onProblem({ file, line: foreign.line, what })
}

/** For readers that need all records. */
export function rejectProblem({ file, line, what }: LogProblem): void {
  throw new Error(`${file}:${line}: ${what}`)
}

/** Parses a line of the log; undefined if it is not a record. Its hash is not verified. */
export function parseStoredRecord(line: string): StoredRecord | undefined {
  const record = parseRecord(line)
  return record !== undefined && isStoredRecord(record) ? record : undefined
}

function isStoredRecord(record: AuditRecord): record is StoredRecord {
  return typeof record.time === 'string' && 'hash' in record && typeof record.hash === 'string'
}
