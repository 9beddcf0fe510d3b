import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileLine, type LineRange, readLines } from '../../lib/index.ts'
import type { AuditRecord } from '../records/audit-record.ts'
import { notARecord, parseRecord } from '../records/hash-chain.ts'
import { isForeignRecord, listSegments, type LogSegment, skipSegmentsBefore } from './log-segments.ts'

/** Content of a log that is no record. */
export interface LogProblem {
  readonly file: string
  /** Counts from 1; absent if the problem concerns the whole file. */
  readonly line?: number
  readonly what: string
}

export type ReportProblem = (problem: LogProblem) => void

/**
 * Reads unverified records, oldest first, without the segments that end before a time. Damaged lines and those of another
 * writer are reported and skipped, or reject without `onProblem`; an incomplete last line is ignored.
 */
export async function* readAuditLog(
  folder: string,
  since?: Date,
  onProblem: ReportProblem = rejectProblem,
): AsyncGenerator<AuditRecord, void> {
  for (const segment of skipSegmentsBefore(await listSegments(folder), since))
    yield* readSegment(folder, segment, onProblem)
}

/** Small, as the lines of a read are parsed in one piece. */
const readBytes = 64 * 1024

/**
 * Reads the last `bytes` of a log, oldest record first. Skips other lines. The first segment is read from its middle, where
 * only the number of a record shows whether it lies behind the end of the log.
 */
export async function* readNewestRecords(
  folder: string,
  segments: readonly LogSegment[],
  bytes: number,
): AsyncGenerator<AuditRecord, void> {
  const newest: { readonly segment: LogSegment; readonly from: number }[] = []
  let left = bytes
  for (const segment of segments.toReversed()) {
    if (left <= 0) break
    const { size } = await stat(join(folder, segment.file))
    newest.unshift({ segment, from: Math.max(0, size - left) })
    left -= size
  }
  for (const { segment, from } of newest) {
    for await (const record of readSegment(folder, segment, () => undefined, { from, readBytes }))
      if (!isForeignRecord(segment, record)) yield record
  }
}

/** Reads the records of one segment, like `readAuditLog`; only lines that are wanted are parsed. */
export async function* readSegment(
  folder: string,
  segment: LogSegment,
  onProblem: ReportProblem,
  { isWanted = () => true, ...range }: LineRange & { readonly isWanted?: (line: Buffer) => boolean } = {},
): AsyncGenerator<AuditRecord, void> {
  for await (const { bytes, number, end } of readOwnLines(folder, segment, onProblem, range)) {
    if ((end === 'file' && segment.end === undefined) || !isWanted(bytes)) continue
    const record = parseRecord(bytes.toString('utf8'))
    if (record !== undefined) yield record
    else onProblem({ file: segment.file, line: number, what: notARecord })
  }
}

/** Reads the lines of a segment up to the record that the next one follows, and reports how many lie behind it. */
export async function* readOwnLines(
  folder: string,
  { file, end, isForeign }: LogSegment,
  onProblem: ReportProblem,
  range?: LineRange,
): AsyncGenerator<FileLine, void> {
  const lastTail = Buffer.from(`"hash":"${end?.hash}"}`)
  let isEnded = isForeign
  let foreign: { readonly line: number; count: number } | undefined
  for await (const line of readLines(join(folder, file), range)) {
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
