import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { checkLine, findMisplacement, type ChainPosition } from '../records/hash-chain.ts'
import { journalName, readJournal } from './write-ahead-journal.ts'
import type { JournalEntry } from './journal-entry.ts'
import { readInto } from '../../lib/fs/read-into.ts'
import { readLines } from '../../lib/fs/read-lines.ts'
import type { RecordBodies } from '../records/audit-record.ts'
import { parseSegmentName, type ChainSegments } from './segment-names.ts'
import { writeAll } from '../../lib/fs/write-all.ts'

export type Repair = RecordBodies['recovered']

/** Part of the journal that belongs to the end of the newest chain. */
export interface JournalTail {
  readonly file: string
  readonly offset: number
  /** Whole lines that continue the chain. */
  readonly bytes: Buffer
  /** Number of bytes that the file lacks: they are after its end, or differ. */
  readonly missing: number
  /** Whether the file contains text there that the gateway did not write; a crash never leaves such text. */
  readonly isOverwritten: boolean
  /** Whether records are lost, in the file as well as in the readable part of the journal. */
  readonly isLossy: boolean
}

export interface JournalDamage {
  /** Name of the segment; name of the journal if the segment is unknown. */
  readonly file: string
  readonly damage: string
}

/** Finds the entries that continue the newest chain; undefined if there are none. */
export async function readJournalTail(
  folder: string,
  newest: ChainSegments | undefined,
  entries: readonly JournalEntry[] | string,
): Promise<JournalTail | JournalDamage | undefined> {
  if (typeof entries === 'string') return { file: journalName, damage: entries }
  const [first] = entries
  // If a newer chain exists, its start has already replayed the journal of the previous one.
  if (first === undefined || isFromOlderChain(first.file, newest)) return undefined
  const { file, offset } = first
  if (!newest?.segments.includes(file))
    return { file, damage: 'the file is missing, but the journal has records of it' }
  const path = join(folder, file)
  const retained = takeContiguous(entries)
  const bytes = Buffer.concat(retained.map((entry) => entry.bytes))
  const problem = await findContinuationProblem(path, offset, bytes, newest.chain)
  if (problem !== undefined) return { file, damage: `the journal does not continue the file: ${problem}` }
  const handle = await open(path)
  try {
    const { missing, isOverwritten } = await compareWithFile(handle, { offset, bytes })
    let isLossy = false
    for (const entry of entries.slice(retained.length)) {
      isLossy ||= (await compareWithFile(handle, entry)).missing > 0
    }
    return { file, offset, bytes, missing, isOverwritten, isLossy }
  } finally {
    await handle.close()
  }
}

/** Restores the end of the newest chain, durably; undefined if no repair was necessary. Can be repeated. */
export async function restoreFromJournal(
  folder: string,
  newest: ChainSegments | undefined,
): Promise<Repair | undefined> {
  const tail = await readJournalTail(folder, newest, await readJournal(folder))
  if (tail === undefined) return undefined
  if ('damage' in tail) return { file: tail.file, bytesCut: 0, damage: tail.damage }
  const { file, offset, bytes, missing, isLossy } = tail
  const handle = await open(join(folder, file), 'r+')
  try {
    // Data that can be read may exist in memory only, so all of it is written again.
    await writeAll(handle.fd, bytes, offset)
    await handle.datasync()
  } finally {
    await handle.close()
  }
  if (missing === 0 && !isLossy) return undefined
  const damage = isLossy ? { damage: 'records lost: the journal is damaged' } : {}
  return { file, bytesCut: 0, bytesRestored: missing, ...damage }
}

/** A file that is not a segment does not count as older. */
function isFromOlderChain(file: string, newest: ChainSegments | undefined): boolean {
  return newest !== undefined && (parseSegmentName(file)?.ordinal ?? Infinity) < newest.ordinal
}

/** Returns the first contiguous entries; after a gap, an entry was damaged. */
function takeContiguous(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const gap = entries.findIndex(({ file, offset }, index) => {
    const before = entries[index - 1]
    return before && (file !== before.file || offset !== before.offset + before.bytes.length)
  })
  return gap === -1 ? entries : entries.slice(0, gap)
}

/** Describes why the lines do not continue the chain; undefined if they do. Accepts the first lines of a segment. */
async function findContinuationProblem(
  path: string,
  offset: number,
  bytes: Buffer,
  chain: string,
): Promise<string | undefined> {
  let position: ChainPosition | undefined
  if (offset > 0) {
    const line = await readLineEndingAt(path, offset)
    const checked = line === undefined ? 'the file ends before' : checkLine(line)
    if (typeof checked === 'string') return checked
    position = { chain, seq: checked.record.seq + 1, prev: checked.hash }
  }
  for (let begin = 0; begin < bytes.length;) {
    const newline = bytes.indexOf(10, begin)
    if (newline === -1) return 'incomplete line'
    const checked = checkLine(bytes.subarray(begin, newline))
    if (typeof checked === 'string') return checked
    const { record, hash } = checked
    const problem = findMisplacement(record, position ?? { chain, seq: record.seq, prev: record.prev })
    if (problem !== undefined) return problem
    position = { chain, seq: record.seq + 1, prev: hash }
    begin = newline + 1
  }
  return undefined
}

async function readLineEndingAt(path: string, offset: number): Promise<Buffer | undefined> {
  for await (const line of readLines(path)) {
    const end = line.offset + line.bytes.length + 1
    if (end >= offset) return end === offset && line.end === 'newline' ? Buffer.from(line.bytes) : undefined
  }
  return undefined
}

async function compareWithFile(
  handle: FileHandle,
  { offset, bytes }: Pick<JournalEntry, 'offset' | 'bytes'>,
): Promise<Pick<JournalTail, 'missing' | 'isOverwritten'>> {
  const stored = Buffer.alloc(bytes.length)
  const length = await readInto(handle, stored, offset)
  let missing = bytes.length - length
  let isOverwritten = false
  for (let at = 0; at < length; at += 1) {
    if (stored[at] === bytes[at]) continue
    missing += 1
    isOverwritten ||= stored[at] !== 0
  }
  return { missing, isOverwritten }
}
