import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { checkLine, findMisplacement, getReference, isWrittenWith } from '../records/hash-chain.ts'
import { readLines } from '../../lib/index.ts'
import type { AuditRecord, ChainEnd, IntentReference, RecordBodies } from '../records/audit-record.ts'
import type { SealKey } from '../records/seal-key.ts'
import { listSegmentFiles } from '../storage/log-segments.ts'

export interface Recovery {
  /** Id of the newest chain, with this key or another. */
  readonly newest: string | undefined
  /** The last record that a gateway with this key wrote; absent in an empty folder. */
  readonly previous?: ChainEnd
  readonly unresolved: readonly IntentReference[]
  /** Number of records after the last seal. */
  readonly unsealed: number
  /** Repairs at the end of the log; empty after a clean shutdown. */
  readonly repairs: readonly RecordBodies['recovered'][]
  /** Lines that another writer added behind `previous`. */
  readonly foreign: readonly RecordBodies['tampered'][]
}

/**
 * Finds the end of the log, durably: the last record that was written with this key. Lines behind it are foreign; they
 * stay as evidence, and the next chain does not follow it. Of a chain of another key, the last seal is the end.
 * Truncates an unfinished last line: a write interrupted by a crash, never acknowledged. Reads one segment of a log of
 * any size: each starts after a seal; each but the first has the intents unresolved at that time; and a chain
 * appears together with the outcomes of all unresolved intents of the previous one (see chain-writer.ts).
 * Memory grows only with the number of unresolved intents.
 */
export async function recoverFolder(folder: string, key: SealKey): Promise<Recovery> {
  const files = (await listSegmentFiles(folder)).toReversed()
  const repairs: RecordBodies['recovered'][] = []
  const foreign: RecordBodies['tampered'][] = []
  const newest = files[0]?.chain
  // A crash right after a rotation leaves an empty last segment.
  for (const { file, chain } of files) {
    const own = await readSegment(join(folder, file), chain, key)
    const first = files.findLast((one) => one.chain === chain)?.file ?? file
    const isOwn = own.end !== undefined || (await isChainOf(key, join(folder, first)))
    const found = isOwn ? own : await readSegment(join(folder, file), chain, undefined)
    const { end, damage, line, lines, torn } = found
    const cut = lines === 0 ? torn : 0
    await truncateAndSync(join(folder, file), cut > 0 ? found.length : undefined)
    if (lines > 0) foreign.push({ file, what: 'extended', line, lines })
    if (cut > 0 || damage !== undefined)
      repairs.push({ file, bytesCut: cut, ...(damage !== undefined && { damage }) })
    if (end === undefined) continue
    const unresolved = [...found.open.values()]
    return { newest, previous: end, unresolved, unsealed: found.unsealed, repairs, foreign }
  }
  return { newest, unresolved: [], unsealed: 0, repairs, foreign }
}

/** All records of a chain are written with one key. */
async function isChainOf(key: SealKey, path: string): Promise<boolean> {
  for await (const { bytes } of readLines(path)) {
    const checked = checkLine(bytes)
    return typeof checked === 'object' && isWrittenWith(bytes, checked, key)
  }
  return false
}

interface SegmentEnd {
  end?: ChainEnd
  readonly open: Map<number, IntentReference>
  unsealed: number
  /** The lines behind `end`: the number of the first one, and how many there are. */
  line: number
  lines: number
  /** The first error in a line before `end`. */
  damage?: string | undefined
  /** Number of bytes up to and including the last newline. */
  length: number
  torn: number
}

/** Without a key, of a chain of another one. */
async function readSegment(path: string, chain: string, key: SealKey | undefined): Promise<SegmentEnd> {
  const found: SegmentEnd = { open: new Map(), unsealed: 0, line: 0, lines: 0, length: 0, torn: 0 }
  let last: ChainEnd | undefined
  let pending: AuditRecord[] = []
  let problem: string | undefined
  for await (const line of readLines(path)) {
    if (line.end === 'file') {
      found.torn = line.bytes.length
      break
    }
    found.length = line.offset + line.bytes.length + 1
    const record = checkLine(line.bytes)
    const isLater = typeof record !== 'string' && record.chain === chain && record.seq > (last?.seq ?? -1)
    if (!isLater || (key && !isWrittenWith(line.bytes, record, key))) {
      problem ??= `line ${line.number}: ${typeof record === 'string' ? record : 'another writer added the record'}`
    } else {
      const misplacement = last && findMisplacement(record, last)
      if (misplacement !== undefined) problem ??= `line ${line.number}: ${misplacement}`
      last = { chain, seq: record.seq, hash: record.hash }
      pending.push(record)
      if (key !== undefined || record.kind === 'seal') {
        for (const each of pending) addRecord(found, each)
        pending = []
        found.end = last
        found.lines = 0
        found.damage = problem
        continue
      }
    }
    if (found.lines === 0) found.line = line.number
    found.lines += 1
  }
  return found
}

function addRecord(found: SegmentEnd, record: AuditRecord): void {
  const { open } = found
  found.unsealed = record.kind === 'seal' ? 0 : found.unsealed + 1
  const { chain } = record
  if (record.kind === 'segment')
    for (const intent of record.unresolved) open.set(intent.seq, { chain, ...intent })
  else if (record.kind === 'intent') open.set(record.seq, getReference(record))
  else if (record.kind === 'outcome' && record.intentChain === undefined) open.delete(record.intentSeq)
}

/** Also syncs without a `length`: the data that was read may have existed in memory only. */
async function truncateAndSync(path: string, length: number | undefined): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    if (length !== undefined) await handle.truncate(length)
    await handle.datasync()
  } finally {
    await handle.close()
  }
}
