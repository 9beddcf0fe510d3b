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

export interface VerifyOptions {
  /** Public keys of which one must have signed each seal. If undefined, signatures are not verified. */
  readonly keys?: readonly SealVerifier[]
}

const maxProblems = 100
/** Clocks are set back by less. */
const maxClockStepMs = 60_000
/** Seals come every ten seconds; the clock of the verifying machine may differ. */
const maxUnsealedMs = 300_000

/**
 * Verifies the hashes, numbering, times, links and seals of all chains in the folder. Reports every problem and reads on.
 * Memory grows only with the number of intents without an outcome. A folder without chains is valid. Rejects if the folder
 * cannot be read.
 */
export async function verifyAuditLog(folder: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const verifier = new LogVerifier(options)
  for (const segment of await listSegments(folder)) {
    if (!segment.isForeign) verifier.beginSegment(segment)
    for await (const line of readOwnLines(folder, segment, verifier.addProblem)) verifier.addLine(line)
  }
  return verifier.finish()
}

/** Verifies the lines of a log in their order. After a problem it goes on with the next record, whatever its number. */
class LogVerifier {
  readonly #options: VerifyOptions
  readonly #problems: LogProblem[] = []
  #records = 0
  #problemCount = 0
  #tornTail: VerifyReport['tornTail']
  #firstFile: string | undefined
  #segment: LogSegment | undefined
  #chains = 0
  /** The last record of the current chain so far, and of the one before it. */
  #end: ChainEnd | undefined
  #previousEnd: ChainEnd | undefined | 'unknown'
  /** Whether lines of the current chain have been read, and whether the last one was no record of it. */
  #isBegun = true
  #isDamaged = false
  /** Of the last record. */
  #time = -Infinity
  #seals = 0
  /** Number of records after the last seal, the time of the first, and whether there was a problem among them. */
  #unsealed = 0
  #unsealedSince: string | undefined
  #isUnsealedDamaged = false
  /** Maximum number of records after the last seal, as stated in it. */
  #maxUnsealed = Infinity
  /** Record before the first existing one, and whether a sealed record of the log documents its removal. */
  #pruned: ChainEnd | undefined
  #isPruningRecorded = false
  #isPruningSealed = false
  /** Keys of the form `chain seq`. */
  readonly #unresolved = new Set<string>()

  constructor(options: VerifyOptions) {
    this.#options = options
  }

  readonly addProblem = (problem: LogProblem): void => {
    this.#problemCount += 1
    if (this.#problems.length < maxProblems) this.#problems.push(problem)
  }

  beginSegment(segment: LogSegment): void {
    const before = this.#segment
    if (before?.chain !== segment.chain) this.#beginChain()
    else if (this.#options.keys !== undefined && this.#unsealed > 0 && !this.#isUnsealedDamaged)
      this.addProblem({
        file: before.file,
        what: 'the segment does not end in a seal, but another segment follows',
      })
    this.#segment = segment
    this.#firstFile ??= segment.file
  }

  addLine(line: FileLine): void {
    const { file = '', end, chain } = this.#segment ?? {}
    if (line.end === 'file' && end === undefined) {
      this.#tornTail = { file, bytes: line.bytes.length }
      return
    }
    const record = line.end === 'newline' ? checkLine(line.bytes) : 'the line does not end in a newline'
    const problem = typeof record === 'string' ? record : this.#findProblem(record, line)
    if (problem !== undefined) {
      this.addProblem({ file, line: line.number, what: problem })
      this.#isUnsealedDamaged = true
    }
    this.#isBegun = true
    this.#isDamaged = typeof record === 'string' || record.chain !== chain
    if (typeof record === 'string' || record.chain !== chain) {
      this.#unsealed += 1
      return
    }
    this.#records += 1
    this.#end = { chain, seq: record.seq, hash: record.hash }
    this.#time = Date.parse(record.time)
    this.#addRecord(record)
  }

  finish(): VerifyReport {
    this.#endChain()
    const { keys } = this.#options
    const [first = '', last = ''] = [this.#firstFile, this.#segment?.file]
    const isPruningProven = this.#isPruningRecorded && (keys === undefined || this.#isPruningSealed)
    if (this.#pruned && !isPruningProven) {
      const { chain, seq } = this.#pruned
      const what = `record ${seq} of chain ${chain} is missing before this segment, and no signed record says that it was removed`
      this.addProblem({ file: first, line: 1, what })
    }
    if (keys !== undefined && this.#seals === 0 && this.#chains > 0)
      this.addProblem({ file: last, what: 'the log has no seal' })
    const since = this.#unsealedSince
    if (since !== undefined && Math.abs(Date.now() - Date.parse(since)) > maxUnsealedMs) {
      const what = `the last ${this.#unsealed} records, since ${since}, have no seal: the gateway was killed before it, or another writer added them, which its next start finds out`
      this.addProblem({ file: last, what })
    }
    return {
      ok: this.#problemCount === 0,
      chains: this.#chains,
      records: this.#records,
      seals: this.#seals,
      unresolved: this.#unresolved.size,
      unsealed: { records: this.#unsealed, ...(since !== undefined && { since }) },
      ...(this.#end && { head: this.#end }),
      ...(this.#pruned && { pruned: this.#pruned }),
      problems: this.#problems,
      problemCount: this.#problemCount,
      ...(this.#tornTail && { tornTail: this.#tornTail }),
    }
  }

  #beginChain(): void {
    this.#endChain()
    this.#chains += 1
    this.#previousEnd = this.#isDamaged ? 'unknown' : this.#end
    this.#end = undefined
    this.#isDamaged = false
    this.#isBegun = false
  }

  #endChain(): void {
    if (this.#segment !== undefined && !this.#isBegun)
      this.addProblem({ file: this.#segment.file, what: 'the chain has no records: they were removed' })
  }

  #findProblem(record: AuditRecord, line: FileLine): string | undefined {
    return (
      this.#findMisplacement(record) ?? this.#findSealProblem(record, line) ?? this.#findTimeProblem(record)
    )
  }

  #findMisplacement(record: AuditRecord): string | undefined {
    const { chain = '' } = this.#segment ?? {}
    if (!this.#isBegun) return this.#findBeginProblem(record, chain)
    return findMisplacement(record, { ...getPreceding(record), ...(!this.#isDamaged && this.#end), chain })
  }

  /** The first existing record may follow records removed by retention. */
  #findBeginProblem(record: AuditRecord, chain: string): string | undefined {
    const isFirst = this.#chains === 1
    if (isFirst && record.kind === 'segment') {
      this.#pruned = getPreceding(record)
      return findMisplacement(record, { ...this.#pruned, chain })
    }
    const problem = findMisplacement(record, beginChain(chain))
    if (problem !== undefined || record.kind !== 'start') {
      return problem ?? 'the chain does not begin with a start record'
    }
    if (isFirst) this.#pruned = record.previous
    return isFirst || this.#previousEnd === 'unknown'
      ? undefined
      : findLinkProblem(record.previous, this.#previousEnd)
  }

  #findSealProblem(record: AuditRecord, line: FileLine): string | undefined {
    const { keys } = this.#options
    if (record.kind !== 'seal') {
      const isSealMissing = keys !== undefined && this.#unsealed === this.#maxUnsealed
      return isSealMissing ? `no seal within ${this.#maxUnsealed} records of the last one` : undefined
    }
    const { leaves, key } = record
    // The first seal may cover records that retention removed.
    const isComplete = this.#pruned === undefined || this.#seals > 0 || leaves <= this.#unsealed
    if (isComplete && !this.#isUnsealedDamaged && leaves !== this.#unsealed)
      return 'the seal does not match the records before it'
    if (keys === undefined) return undefined
    const verifier = keys.find(({ id }) => id === key)
    if (verifier === undefined)
      return `the seal is signed with the key ${key}; pass its public key with --public-key`
    return isSigned(line.bytes, record, verifier) ? undefined : 'the signature of the seal is invalid'
  }

  #findTimeProblem({ time }: AuditRecord): string | undefined {
    return Date.parse(time) < this.#time - maxClockStepMs
      ? `the time ${time} is before that of the record before it, by more than a minute`
      : undefined
  }

  #addRecord(record: AuditRecord): void {
    if (record.kind === 'seal') {
      this.#seals += 1
      this.#maxUnsealed = record.within
      this.#unsealed = 0
      this.#unsealedSince = undefined
      this.#isUnsealedDamaged = false
      this.#isPruningSealed = this.#isPruningRecorded
      return
    }
    this.#unsealed += 1
    this.#unsealedSince ??= record.time
    if (record.kind === 'pruned' && isWithin(this.#pruned, record.through)) this.#isPruningRecorded = true
    if (record.kind === 'segment' && this.#records === 1) {
      for (const { seq } of record.unresolved) this.#unresolved.add(getRecordKey({ ...record, seq }))
    }
    if (record.kind === 'intent') this.#unresolved.add(getRecordKey(record))
    if (record.kind === 'outcome') this.#unresolved.delete(getIntentKey(record))
  }
}

function findLinkProblem(named: ChainEnd | undefined, before: ChainEnd | undefined): string | undefined {
  if (isSameEnd(named, before)) return undefined
  if (named?.chain !== before?.chain) {
    const expected = named ? `chain ${named.chain}` : 'no chain'
    return `expected ${expected} before this one, found ${before ? `chain ${before.chain}` : 'none'}`
  }
  return `chain ${named?.chain} ended with record ${named?.seq}, and now ends with ${before?.seq} or another text`
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
