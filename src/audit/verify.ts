import { join } from 'node:path'
import { checkLine, misplaced, noHash } from './chain.ts'
import { readLines, type Line } from './lines.ts'
import type { AuditRecord, ChainEnd } from './records.ts'
import { listChains, type ChainFiles } from './segment-names.ts'

/** A place where the log is not what was written. */
interface AuditProblem {
  /** The name of the file in the folder. */
  readonly file: string
  /** Counts from 1; missing where the whole file is meant. */
  readonly line?: number
  /** In words. */
  readonly what: string
}

/** What `verifyAuditLog` found. */
export interface VerifyReport {
  /** Nothing was changed, removed or added, as far as a hash chain can tell (see chain.ts). */
  readonly ok: boolean
  /** The chains and the records that were found good. */
  readonly chains: number
  readonly records: number
  /** Intents without an outcome: of changes under way now, or at the crash that ended the newest chain. */
  readonly unresolved: number
  /** The first problem; nothing after it was read. */
  readonly problem?: AuditProblem
  /**
   * An unfinished line at the end of the newest chain: a crash that no start has recovered yet, or a record that
   * is being written now. No problem: nobody was promised such a record.
   */
  readonly tornTail?: { readonly file: string; readonly bytes: number }
}

interface Findings {
  chains: number
  records: number
  end: ChainEnd | undefined
  /** Intents without an outcome, as `chain seq`. */
  readonly unresolved: Set<string>
  problem?: AuditProblem
  tornTail?: { file: string; bytes: number }
}

/**
 * Checks every line of every chain in the folder: hashes, numbering, the links between records, between segments
 * and between chains. Memory does not grow with the log, only with the number of intents without an outcome.
 * A folder without chains is good: 0 chains. Rejects when the folder cannot be read.
 */
export async function verifyAuditLog(folder: string): Promise<VerifyReport> {
  const found: Findings = { chains: 0, records: 0, end: undefined, unresolved: new Set() }
  const chains = await listChains(folder)
  for (const [index, chain] of chains.entries()) {
    await verifyChain(folder, chain, index === chains.length - 1, found)
    if (found.problem) break
    found.chains += 1
  }
  return {
    ok: found.problem === undefined,
    chains: found.chains,
    records: found.records,
    unresolved: found.unresolved.size,
    ...(found.problem && { problem: found.problem }),
    ...(found.tornTail && { tornTail: found.tornTail }),
  }
}

async function verifyChain(
  folder: string,
  { chain, segments }: ChainFiles,
  newest: boolean,
  found: Findings,
): Promise<void> {
  const before = found.end
  found.end = undefined
  for (const file of segments) {
    const mayBeTorn = newest && file === segments.at(-1)
    for await (const line of readLines(join(folder, file))) {
      if (line.end === 'file' && mayBeTorn) {
        found.tornTail = { file, bytes: line.bytes.length }
        continue
      }
      const what = verifyLine(line, chain, before, found)
      if (what === undefined) continue
      found.problem = { file, line: line.number, what }
      return
    }
  }
  if (found.end === undefined) {
    found.problem = { file: segments[0] ?? chain, what: 'the chain has no records: they were removed' }
  }
}

/** Says what is wrong with the line, or counts its record. */
function verifyLine(
  line: Line,
  chain: string,
  before: ChainEnd | undefined,
  found: Findings,
): string | undefined {
  if (line.end !== 'newline') return 'the line does not end in a newline'
  const checked = checkLine(line.bytes)
  if (typeof checked === 'string') return checked
  const { record, hash } = checked
  const place = found.end
    ? { chain, seq: found.end.seq + 1, prev: found.end.hash }
    : { chain, seq: 0, prev: noHash }
  const wrong = misplaced(record, place) ?? (found.end ? undefined : unlinked(record, before))
  if (wrong !== undefined) return wrong
  found.end = { chain, seq: record.seq, hash }
  found.records += 1
  if (record.kind === 'intent') found.unresolved.add(`${chain} ${record.seq}`)
  if (record.kind === 'outcome') {
    found.unresolved.delete(`${record.intentChain ?? chain} ${record.intentSeq}`)
  }
  return undefined
}

/** Says what is wrong with the link of a chain's first record to the chain before. */
function unlinked(record: AuditRecord, before: ChainEnd | undefined): string | undefined {
  if (record.kind !== 'start') return 'the chain does not begin with a start record'
  const named = record.previous
  if (named?.chain !== before?.chain) {
    const expected = named ? `chain ${named.chain}` : 'no chain'
    return `${expected} should come before this one, and ${before ? `chain ${before.chain}` : 'none'} does`
  }
  if (named?.seq === before?.seq && named?.hash === before?.hash) return undefined
  return `chain ${named?.chain} ended with record ${named?.seq}, and now ends with ${before?.seq} or another text`
}
