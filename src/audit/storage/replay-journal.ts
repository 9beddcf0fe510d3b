import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { checkLine, findMisplacement, type ChainPosition } from '../records/hash-chain.ts'
import { journalName, readJournal } from './journal.ts'
import type { JournalEntry } from './journal-entry.ts'
import { readInto } from '../../lib/fs/read-into.ts'
import { readLines } from '../../lib/fs/read-lines.ts'
import type { RecordBodies } from '../records/audit-record.ts'
import { parseSegmentName, type ChainSegments } from './segment-names.ts'
import { writeAll } from '../../lib/fs/write-all.ts'

/** What was put right, and what could not be. */
export type Repair = RecordBodies['recovered']

/** What the journal holds of the end of the newest chain. */
export interface JournalTail {
  /** The name of the segment. */
  readonly file: string
  /** Where the bytes begin in it. */
  readonly offset: number
  /** Whole lines, which continue the chain. */
  readonly bytes: Buffer
  /** Bytes of the segment that the file does not hold: they are past its end, or other ones stand there. */
  readonly missing: number
  /** Whether the file holds text there that the gateway did not write; a crash leaves no text of its own. */
  readonly isOverwritten: boolean
  /** Whether records are lost: neither the file holds them, nor what can be read of the journal. */
  readonly isLossy: boolean
}

/** Why the journal cannot be used. */
export interface JournalDamage {
  /** The name of the segment; of the journal itself if that is not known. */
  readonly file: string
  readonly damage: string
}

/**
 * What these entries hold of the end of the newest chain of the folder. Only lines that continue the chain are taken.
 * Undefined if the journal holds nothing of it.
 */
export async function readJournalTail(
  folder: string,
  newest: ChainSegments | undefined,
  entries: readonly JournalEntry[] | string,
): Promise<JournalTail | JournalDamage | undefined> {
  if (typeof entries === 'string') return { file: journalName, damage: entries }
  const [first] = entries
  // Where a chain follows, the start that began it has taken what the journal held of the one before.
  if (first === undefined || isFromOlderChain(first.file, newest)) return undefined
  const { file, offset } = first
  if (!newest?.segments.includes(file))
    return { file, damage: 'the file is missing, but the journal has records of it' }
  const path = join(folder, file)
  const retained = takeContiguous(entries)
  const bytes = Buffer.concat(retained.map((entry) => entry.bytes))
  const wrong = await findContinuationProblem(path, offset, bytes, newest.chain)
  if (wrong !== undefined) return { file, damage: `the journal does not continue the file: ${wrong}` }
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

/**
 * Sees to it that the newest chain holds what the journal of the folder says: what a crash of the machine took from the
 * end of its segment is put back, and durable. Answers what was wrong; undefined where nothing was. The journal stays
 * as it is, so that this can be done again.
 */
export async function replayJournal(
  folder: string,
  newest: ChainSegments | undefined,
): Promise<Repair | undefined> {
  const tail = await readJournalTail(folder, newest, await readJournal(folder))
  if (tail === undefined) return undefined
  if ('damage' in tail) return { file: tail.file, bytesCut: 0, damage: tail.damage }
  const { file, offset, bytes, missing, isLossy } = tail
  const handle = await open(join(folder, file), 'r+')
  try {
    // What can be read may be in memory alone, so all of it is written again.
    await writeAll(handle.fd, bytes, offset)
    await handle.datasync()
  } finally {
    await handle.close()
  }
  if (missing === 0 && !isLossy) return undefined
  const damage = isLossy ? { damage: 'records lost: the journal is damaged' } : {}
  return { file, bytesCut: 0, bytesRestored: missing, ...damage }
}

/** What is not the name of a segment is not older. */
function isFromOlderChain(file: string, newest: ChainSegments | undefined): boolean {
  return newest !== undefined && (parseSegmentName(file)?.ordinal ?? Infinity) < newest.ordinal
}

/** The first of the entries that lie one behind the other; behind a gap one was damaged. */
function takeContiguous(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const gap = entries.findIndex(({ file, offset }, index) => {
    const before = entries[index - 1]
    return before && (file !== before.file || offset !== before.offset + before.bytes.length)
  })
  return gap === -1 ? entries : entries.slice(0, gap)
}

/** Why the lines do not belong in that place; undefined where they do. The first of a segment are taken as they come. */
async function findContinuationProblem(
  path: string,
  offset: number,
  bytes: Buffer,
  chain: string,
): Promise<string | undefined> {
  let location: ChainPosition | undefined
  if (offset > 0) {
    const line = await readLineEndingAt(path, offset)
    const checked = line === undefined ? 'the file ends before' : checkLine(line)
    if (typeof checked === 'string') return checked
    location = { chain, seq: checked.record.seq + 1, prev: checked.hash }
  }
  for (let begin = 0; begin < bytes.length;) {
    const newline = bytes.indexOf(10, begin)
    if (newline === -1) return 'incomplete line'
    const checked = checkLine(bytes.subarray(begin, newline))
    if (typeof checked === 'string') return checked
    const { record, hash } = checked
    const what = findMisplacement(record, location ?? { chain, seq: record.seq, prev: record.prev })
    if (what !== undefined) return what
    location = { chain, seq: record.seq + 1, prev: hash }
    begin = newline + 1
  }
  return undefined
}

/** The line that ends there. */
async function readLineEndingAt(path: string, offset: number): Promise<Buffer | undefined> {
  for await (const line of readLines(path)) {
    const end = line.offset + line.bytes.length + 1
    if (end >= offset) return end === offset && line.end === 'newline' ? Buffer.from(line.bytes) : undefined
  }
  return undefined
}

/** How the file differs from the bytes that belong there. */
async function compareWithFile(
  handle: FileHandle,
  { offset, bytes }: Pick<JournalEntry, 'offset' | 'bytes'>,
): Promise<Pick<JournalTail, 'missing' | 'isOverwritten'>> {
  const there = Buffer.alloc(bytes.length)
  const length = await readInto(handle, there, offset)
  let missing = bytes.length - length
  let isOverwritten = false
  for (let at = 0; at < length; at += 1) {
    if (there[at] === bytes[at]) continue
    missing += 1
    isOverwritten ||= there[at] !== 0
  }
  return { missing, isOverwritten }
}
