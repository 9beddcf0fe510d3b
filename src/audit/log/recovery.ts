import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { checkLine, findMisplacement, zeroHash } from '../records/hash-chain.ts'
import { readLines } from '../../lib/fs/read-lines.ts'
import type { ChainEnd, OpenIntent, RecordBodies } from '../records/audit-record.ts'
import { listChains } from '../storage/segment-names.ts'

export type Repair = RecordBodies['recovered']

export interface Recovery {
  readonly nextOrdinal: number
  /** End of the newest chain; absent in an empty folder. */
  readonly previous?: ChainEnd
  readonly unresolved: readonly OpenIntent[]
  /** Number of records after the last seal. */
  readonly unsealed: number
  /** Repairs at the end of the newest chain; empty after a clean shutdown. */
  readonly repairs: readonly Repair[]
}

/**
 * Recovers the end of the newest chain of a folder, durably. Truncates an unfinished last line: a write interrupted by a
 * crash, never acknowledged. A complete but invalid line is left for
 * `verifyAuditLog`; only records with a valid hash are used. Reads one segment, whatever the size of the log: each
 * starts after a seal; each but the first has the intents unresolved at that time; and a chain appears together with the
 * outcomes of all unresolved intents of the previous one (see chain-writer.ts).
 * Memory grows only with the number of unresolved intents.
 */
export async function recoverFolder(folder: string): Promise<Recovery> {
  const newest = (await listChains(folder)).at(-1)
  const repairs: Repair[] = []
  const nothing = { unresolved: [], unsealed: 0, repairs }
  if (newest === undefined) return { nextOrdinal: 0, ...nothing }
  const { chain, ordinal, segments } = newest
  const nextOrdinal = ordinal + 1
  // A crash right after a rotation leaves an empty last segment.
  for (const file of segments.toReversed()) {
    const path = join(folder, file)
    const found = await readSegment(path, chain)
    await truncateAndSync(path, found.torn > 0 ? found.length : undefined)
    if (found.torn > 0 || found.damage !== undefined) {
      const damage = found.damage === undefined ? {} : { damage: found.damage }
      repairs.push({ file, bytesCut: found.torn, ...damage })
    }
    if (found.end) {
      const { end: previous, open: unresolved, unsealed } = found
      return { nextOrdinal, previous, unresolved, unsealed, repairs }
    }
  }
  return { nextOrdinal, previous: { chain, seq: -1, hash: zeroHash }, ...nothing }
}

interface SegmentEnd {
  end?: ChainEnd
  open: OpenIntent[]
  unsealed: number
  /** Number of bytes up to and including the last newline. */
  length: number
  torn: number
  damage?: string
}

async function readSegment(path: string, chain: string): Promise<SegmentEnd> {
  const open = new Map<number, OpenIntent>()
  const found: SegmentEnd = { open: [], unsealed: 0, length: 0, torn: 0 }
  for await (const line of readLines(path)) {
    if (line.end === 'file') {
      found.torn = line.bytes.length
      break
    }
    found.length = line.offset + line.bytes.length + 1
    const checked = checkLine(line.bytes)
    const problem =
      typeof checked === 'string' ? checked : findMisplacementAfter(checked.record, found.end, chain)
    if (problem !== undefined) found.damage ??= `line ${line.number}: ${problem}`
    if (typeof checked === 'string' || checked.record.chain !== chain) continue
    const { record, hash } = checked
    found.end = { chain, seq: record.seq, hash }
    found.unsealed = record.kind === 'seal' ? 0 : found.unsealed + 1
    const tables = (record.tables ?? []).map(({ id }) => id)
    if (record.kind === 'segment') for (const intent of record.unresolved) open.set(intent.seq, intent)
    else if (record.kind === 'intent')
      open.set(record.seq, { seq: record.seq, request: record.request, tables })
    else if (record.kind === 'outcome' && record.intentChain === undefined) open.delete(record.intentSeq)
  }
  found.open = [...open.values()]
  return found
}

type ChainRecord = Parameters<typeof findMisplacement>[0]

/** The first record of a segment is accepted at any position. */
function findMisplacementAfter(
  record: ChainRecord,
  end: ChainEnd | undefined,
  chain: string,
): string | undefined {
  return findMisplacement(record, {
    chain,
    seq: end ? end.seq + 1 : record.seq,
    prev: end ? end.hash : record.prev,
  })
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
