import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { checkLine, findMisplacement, zeroHash } from '../records/hash-chain.ts'
import { readLines } from '../../lib/fs/read-lines.ts'
import type { ChainEnd, OpenIntent, TableHead } from '../records/audit-record.ts'
import { restoreFromJournal, type Repair } from '../storage/restore-from-journal.ts'
import { listChains } from '../storage/segment-names.ts'
import { TableLinks } from './table-links.ts'

export type { Repair } from '../storage/restore-from-journal.ts'

export interface Recovery {
  readonly nextOrdinal: number
  /** End of the newest chain; absent in an empty folder. */
  readonly previous?: ChainEnd
  readonly unresolved: readonly OpenIntent[]
  readonly heads: readonly TableHead[]
  /** Hashes of the records after the last seal. */
  readonly unsealed: readonly string[]
  /** Repairs at the end of the newest chain; empty after a clean shutdown. */
  readonly repairs: readonly Repair[]
  /** See recorded-policy-files.ts; present only if last good policies are kept. */
  readonly policyFiles?: string
}

/**
 * Recovers the end of the newest chain of a folder, durably. Restores data from the journal, then truncates an
 * unfinished last line: a write interrupted by a crash, never acknowledged. A complete but invalid line is left for
 * `verifyAuditLog`; only records with a valid hash are used. Reads one segment, whatever the size of the log: each
 * starts after a seal with the last record of each table; each but the first has the intents unresolved at that time;
 * and a chain appears together with the outcomes of all unresolved intents of the previous one (see chain-writer.ts).
 * Memory grows only with the number of unresolved intents.
 */
export async function recoverFolder(folder: string): Promise<Recovery> {
  const newest = (await listChains(folder)).at(-1)
  const replayed = await restoreFromJournal(folder, newest)
  const repairs = replayed ? [replayed] : []
  const nothing = { unresolved: [], heads: [], unsealed: [], repairs }
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
      const { end: previous, open: unresolved, heads, unsealed } = found
      return { nextOrdinal, previous, unresolved, heads, unsealed, repairs }
    }
  }
  return { nextOrdinal, previous: { chain, seq: -1, hash: zeroHash }, ...nothing }
}

interface SegmentEnd {
  end?: ChainEnd
  open: OpenIntent[]
  heads: TableHead[]
  unsealed: string[]
  /** Number of bytes up to and including the last newline. */
  length: number
  torn: number
  damage?: string
}

async function readSegment(path: string, chain: string): Promise<SegmentEnd> {
  const open = new Map<number, OpenIntent>()
  const links = new TableLinks([])
  const found: SegmentEnd = { open: [], heads: [], unsealed: [], length: 0, torn: 0 }
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
    if (record.kind === 'seal') found.unsealed = []
    else found.unsealed.push(hash)
    if (record.kind === 'start' || record.kind === 'segment') links.setHeads(record.heads)
    const tables = (record.tables ?? []).map(({ id }) => id)
    links.setHeads(tables.map((id) => ({ id, hash })))
    if (record.kind === 'segment') for (const intent of record.unresolved) open.set(intent.seq, intent)
    else if (record.kind === 'intent')
      open.set(record.seq, { seq: record.seq, request: record.request, tables })
    else if (record.kind === 'outcome' && record.intentChain === undefined) open.delete(record.intentSeq)
  }
  found.open = [...open.values()]
  found.heads = links.listHeads()
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
