import {
  beginChain,
  checkLine,
  findMisplacement,
  getIntentKey,
  getRecordKey,
  isSigned,
} from '../records/hash-chain.ts'
import type { FileLine } from '../../lib/index.ts'
import type { AuditRecord, ChainEnd } from '../records/audit-record.ts'
import type { SealVerifier } from '../records/seal-key.ts'
import { listSegments, type LogSegment, compareByAge } from '../storage/log-segments.ts'
import { readOwnLines, type LogProblem } from '../storage/read-audit-log.ts'

export interface VerifyReport {
  /** Whether there is no problem: no change, removal or addition was detected by the chain and the seals (hash-chain.ts). */
  readonly ok: boolean
  readonly chains: number
  readonly records: number
  /** Number of seals among the records; their signatures were verified if keys were given. */
  readonly seals: number
  /** Intents without an outcome: changes in progress now, or at the crash that ended the newest chain. */
  readonly unresolved: number
  /** Records after the last seal, which are not signed yet, and the time of the first. */
  readonly unsealed: { readonly records: number; readonly since?: string }
  /** The last record. Stored outside of the log, it proves that no earlier record was removed. */
  readonly head?: ChainEnd
  /** The last record removed by retention; absent if the log is complete. */
  readonly pruned?: ChainEnd
  /** The first 100 in the order of the log. */
  readonly problems: readonly LogProblem[]
  readonly problemCount: number
  /** An unfinished last line, after a crash or during a write: no problem, as it was never acknowledged. */
  readonly tornTail?: { readonly file: string; readonly bytes: number }
}

const maxProblems = 100
/** Clocks are set back by less. */
const maxClockStepMs = 60_000
/** Seals come every ten seconds; the clock of the verifying machine may differ. */
const maxUnsealedMs = 300_000

/**
 * Verifies the hashes, numbering, times, links and seals of all chains in the folder. Reports every problem, and goes on with
 * the next record even if numbers are missing. Memory grows only with the number of intents without an outcome. A folder without
 * chains is valid. One of `keys` must have signed each seal; without keys, signatures are not verified. Rejects if the folder
 * cannot be read.
 */
export async function verifyAuditLog(folder: string, keys?: readonly SealVerifier[]): Promise<VerifyReport> {
  const problems: LogProblem[] = []
  let problemCount = 0
  let records = 0
  let tornTail: VerifyReport['tornTail']
  let firstFile = ''
  let segment: LogSegment | undefined
  let chains = 0
  /** The last record of the current chain so far, and of the one before it. */
  let head: ChainEnd | undefined
  let previousEnd: ChainEnd | undefined | 'unknown'
  /** Whether lines of the current chain have been read, and whether the last one was no record of it. */
  let hasLines = true
  let isDamaged = false
  /** Of the last record. */
  let lastTime = -Infinity
  let seals = 0
  /** Number of records after the last seal, the time of the first, and whether there was a problem among them. */
  let unsealed = 0
  let unsealedSince: string | undefined
  let isUnsealedDamaged = false
  /** Maximum number of records after the last seal, as stated in it. */
  let maxUnsealed = Infinity
  /** Record before the first existing one, and whether a sealed record of the log documents its removal. */
  let pruned: ChainEnd | undefined
  let isPruningRecorded = false
  let isPruningSealed = false
  /** Keys of the form `chain seq`. */
  const unresolved = new Set<string>()

  function addProblem(problem: LogProblem): void {
    problemCount += 1
    if (problems.length < maxProblems) problems.push(problem)
  }

  function beginSegment(next: LogSegment): void {
    if (segment?.chain !== next.chain) startChain()
    else if (keys !== undefined && unsealed > 0 && !isUnsealedDamaged)
      addProblem({
        file: segment.file,
        what: 'the segment does not end in a seal, but another segment follows',
      })
    segment = next
    firstFile ||= next.file
  }

  function addLine({ file, end, chain }: LogSegment, line: FileLine): void {
    if (line.end === 'file' && end === undefined) {
      tornTail = { file, bytes: line.bytes.length }
      return
    }
    const record = line.end === 'newline' ? checkLine(line.bytes) : 'the line does not end in a newline'
    const problem = typeof record === 'string' ? record : findProblem(record, line, chain)
    if (problem !== undefined) {
      addProblem({ file, line: line.number, what: problem })
      isUnsealedDamaged = true
    }
    hasLines = true
    isDamaged = typeof record === 'string' || record.chain !== chain
    if (typeof record === 'string' || record.chain !== chain) {
      unsealed += 1
      return
    }
    records += 1
    head = { chain, seq: record.seq, hash: record.hash }
    lastTime = Date.parse(record.time)
    addRecord(record)
  }

  function startChain(): void {
    endChain()
    chains += 1
    previousEnd = isDamaged ? 'unknown' : head
    head = undefined
    isDamaged = false
    hasLines = false
  }

  function endChain(): void {
    if (segment !== undefined && !hasLines)
      addProblem({ file: segment.file, what: 'the chain has no records: they were removed' })
  }

  function findProblem(record: AuditRecord, line: FileLine, chain: string): string | undefined {
    const misplacement = hasLines
      ? findMisplacement(record, { ...getPreceding(record), ...(!isDamaged && head), chain })
      : findBeginProblem(record, chain)
    return misplacement ?? findSealProblem(record, line) ?? findTimeProblem(record)
  }

  /** The first existing record may follow records removed by retention. */
  function findBeginProblem(record: AuditRecord, chain: string): string | undefined {
    const isFirst = chains === 1
    if (isFirst && record.kind === 'segment') {
      pruned = getPreceding(record)
      return findMisplacement(record, { ...pruned, chain })
    }
    const problem = findMisplacement(record, beginChain(chain))
    if (problem !== undefined || record.kind !== 'start') {
      return problem ?? 'the chain does not begin with a start record'
    }
    if (isFirst) pruned = record.previous
    return isFirst || previousEnd === 'unknown' ? undefined : findLinkProblem(record.previous, previousEnd)
  }

  function findSealProblem(record: AuditRecord, line: FileLine): string | undefined {
    if (record.kind !== 'seal') {
      const isSealMissing = keys !== undefined && unsealed === maxUnsealed
      return isSealMissing ? `no seal within ${maxUnsealed} records of the last one` : undefined
    }
    const { leaves, key } = record
    // The first seal may cover records that retention removed.
    const isComplete = pruned === undefined || seals > 0 || leaves <= unsealed
    if (isComplete && !isUnsealedDamaged && leaves !== unsealed)
      return 'the seal does not match the records before it'
    if (keys === undefined) return undefined
    const verifier = keys.find(({ id }) => id === key)
    if (verifier === undefined)
      return `the seal is signed with the key ${key}; pass its public key with --public-key`
    return isSigned(line.bytes, record, verifier) ? undefined : 'the signature of the seal is invalid'
  }

  function findTimeProblem({ time }: AuditRecord): string | undefined {
    return Date.parse(time) < lastTime - maxClockStepMs
      ? `the time ${time} is before that of the record before it, by more than a minute`
      : undefined
  }

  function addRecord(record: AuditRecord): void {
    if (record.kind === 'seal') {
      seals += 1
      maxUnsealed = record.within
      unsealed = 0
      unsealedSince = undefined
      isUnsealedDamaged = false
      isPruningSealed = isPruningRecorded
      return
    }
    unsealed += 1
    unsealedSince ??= record.time
    if (record.kind === 'pruned' && isWithin(pruned, record.through)) isPruningRecorded = true
    if (record.kind === 'segment' && records === 1) {
      for (const { seq } of record.unresolved) unresolved.add(getRecordKey({ ...record, seq }))
    }
    if (record.kind === 'intent') unresolved.add(getRecordKey(record))
    if (record.kind === 'outcome') unresolved.delete(getIntentKey(record))
  }

  function finish(): void {
    endChain()
    const isPruningProven = isPruningRecorded && (keys === undefined || isPruningSealed)
    if (pruned && !isPruningProven) {
      const { chain, seq } = pruned
      const what = `record ${seq} of chain ${chain} is missing before this segment, and no signed record says that it was removed`
      addProblem({ file: firstFile, line: 1, what })
    }
    const lastFile = segment?.file ?? ''
    if (keys !== undefined && seals === 0 && chains > 0)
      addProblem({ file: lastFile, what: 'the log has no seal' })
    if (unsealedSince !== undefined && Math.abs(Date.now() - Date.parse(unsealedSince)) > maxUnsealedMs) {
      const what = `the last ${unsealed} records, since ${unsealedSince}, have no seal: the gateway was killed before it, or another writer added them, which its next start finds out`
      addProblem({ file: lastFile, what })
    }
  }

  for (const next of await listSegments(folder)) {
    if (!next.isForeign) beginSegment(next)
    for await (const line of readOwnLines(folder, next, addProblem)) addLine(next, line)
  }
  finish()
  return {
    ok: problemCount === 0,
    chains,
    records,
    seals,
    unresolved: unresolved.size,
    unsealed: { records: unsealed, ...(unsealedSince !== undefined && { since: unsealedSince }) },
    ...(head && { head }),
    ...(pruned && { pruned }),
    problems,
    problemCount,
    ...(tornTail && { tornTail }),
  }
}

function findLinkProblem(named: ChainEnd | undefined, before: ChainEnd | undefined): string | undefined {
  if (isSameEnd(named, before)) return undefined
  return `expected ${describeEnd(named)} before this one, found ${describeEnd(before)} or another text of it`
}

function describeEnd(end: ChainEnd | undefined): string {
  return end ? `record ${end.seq} of chain ${end.chain}` : 'no record'
}

function getPreceding({ chain, seq, prev }: AuditRecord): ChainEnd {
  return { chain, seq: seq - 1, hash: prev }
}

/** Also if less is missing than was to be removed: a crash may have interrupted the removal. */
function isWithin(missing: ChainEnd | undefined, removed: ChainEnd): boolean {
  if (missing === undefined || isSameEnd(missing, removed)) return true
  if (missing.chain === removed.chain) return missing.seq < removed.seq
  return compareByAge(missing.chain, removed.chain) < 0
}

function isSameEnd(one: ChainEnd | undefined, other: ChainEnd | undefined): boolean {
  return one?.chain === other?.chain && one?.seq === other?.seq && one?.hash === other?.hash
}
