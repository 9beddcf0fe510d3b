import { checkLine, findMisplacement, zeroHash, getSignedText } from '../records/hash-chain.ts'
import type { FileLine } from '../../lib/fs/read-lines.ts'
import type { AuditRecord, ChainEnd } from '../records/audit-record.ts'
import { compareByAge } from '../storage/segment-names.ts'
import type { AuditProblem, VerifyOptions, VerifyReport } from './verify-report.ts'

export class LogVerifier {
  chains = 0
  records = 0
  problem?: AuditProblem
  tornTail?: { file: string; bytes: number }
  readonly #options: VerifyOptions
  #chain = ''
  /** Ends of the previous chain and of the current one so far. */
  #previousEnd: ChainEnd | undefined
  #end: ChainEnd | undefined
  #seals = 0
  /** Number of records after the last seal. */
  #unsealed = 0
  #unsealedSince: string | undefined
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

  get isChainEmpty(): boolean {
    return this.#end === undefined
  }

  get nextSeq(): number {
    return this.#end === undefined ? 0 : this.#end.seq + 1
  }

  beginChain(chain: string): void {
    this.#chain = chain
    this.#previousEnd = this.#end
    this.#end = undefined
  }

  /** Adds a record. Returns a description of the problem if the line is invalid. */
  addLine(line: FileLine): string | undefined {
    if (line.end !== 'newline') return 'the line does not end in a newline'
    const checked = checkLine(line.bytes)
    if (typeof checked === 'string') return checked
    const { record, hash } = checked
    const problem = this.#findMisplacement(record) ?? this.#findSealProblem(record, line)
    if (problem !== undefined) return problem
    this.#end = { chain: this.#chain, seq: record.seq, hash }
    this.records += 1
    this.#addRecord(record)
    return undefined
  }

  /** Checks the end of a segment that is followed by another. Returns a description of the problem, if any. */
  endSegment(): string | undefined {
    if (this.#options.keys === undefined || this.#unsealed === 0) return undefined
    return 'the segment does not end in a seal, but another segment follows'
  }

  finish(firstFile: string | undefined, lastFile: string | undefined): void {
    if (this.problem || firstFile === undefined || lastFile === undefined) return
    const { keys } = this.#options
    const isPruningProven = this.#isPruningRecorded && (keys === undefined || this.#isPruningSealed)
    if (this.#pruned && !isPruningProven) {
      const { chain, seq } = this.#pruned
      const problem = `record ${seq} of chain ${chain} is missing before this segment, and no signed record says that it was removed`
      this.problem = { file: firstFile, line: 1, what: problem }
    } else if (keys !== undefined && this.#seals === 0) {
      this.problem = { file: lastFile, what: 'the log has no seal' }
    }
  }

  report(): VerifyReport {
    return {
      ok: this.problem === undefined,
      chains: this.chains,
      records: this.records,
      seals: this.#seals,
      unresolved: this.#unresolved.size,
      unsealed: {
        records: this.#unsealed,
        ...(this.#unsealedSince !== undefined && { since: this.#unsealedSince }),
      },
      ...(this.#end && { head: this.#end }),
      ...(this.#pruned && { pruned: this.#pruned }),
      ...(this.problem && { problem: this.problem }),
      ...(this.tornTail && { tornTail: this.tornTail }),
    }
  }

  /** The first existing record may follow records removed by retention. */
  #findMisplacement(record: AuditRecord): string | undefined {
    if (this.#end) {
      const { seq, hash } = this.#end
      return findMisplacement(record, { chain: this.#chain, seq: seq + 1, prev: hash })
    }
    if (this.records === 0 && record.kind === 'segment') {
      this.#pruned = { chain: record.chain, seq: record.seq - 1, hash: record.prev }
      return findMisplacement(record, { chain: this.#chain, seq: record.seq, prev: record.prev })
    }
    const problem = findMisplacement(record, { chain: this.#chain, seq: 0, prev: zeroHash })
    if (problem !== undefined || record.kind !== 'start') {
      return problem ?? 'the chain does not begin with a start record'
    }
    if (this.records === 0) this.#pruned = record.previous
    return this.records === 0 ? undefined : findLinkProblem(record.previous, this.#previousEnd)
  }

  #findSealProblem(record: AuditRecord, line: FileLine): string | undefined {
    if (record.kind !== 'seal') {
      const isSealMissing = this.#options.keys !== undefined && this.#unsealed >= this.#maxUnsealed
      return isSealMissing ? `no seal within ${this.#maxUnsealed} records of the last one` : undefined
    }
    const { leaves, key, signature = '' } = record
    // The first seal may cover records that retention removed.
    const isComplete = this.#pruned === undefined || this.#seals > 0 || leaves <= this.#unsealed
    if (isComplete && leaves !== this.#unsealed) return 'the seal does not match the records before it'
    if (this.#options.keys === undefined) return undefined
    const verifier = this.#options.keys.find(({ id }) => id === key)
    if (verifier === undefined)
      return `the seal is signed with the key ${key}; pass its public key with --public-key`
    return verifier.verify(getSignedText(line.bytes), signature)
      ? undefined
      : 'the signature of the seal is invalid'
  }

  #addRecord(record: AuditRecord): void {
    if (record.kind === 'seal') {
      this.#seals += 1
      this.#maxUnsealed = record.within
      this.#unsealed = 0
      this.#unsealedSince = undefined
      this.#isPruningSealed = this.#isPruningRecorded
      return
    }
    this.#unsealed += 1
    this.#unsealedSince ??= record.time
    if (record.kind === 'pruned' && isWithin(this.#pruned, record.through)) this.#isPruningRecorded = true
    if (record.kind === 'segment' && this.records === 1) {
      for (const { seq } of record.unresolved) this.#unresolved.add(`${record.chain} ${seq}`)
    }
    if (record.kind === 'intent') this.#unresolved.add(`${record.chain} ${record.seq}`)
    if (record.kind === 'outcome') {
      this.#unresolved.delete(`${record.intentChain ?? record.chain} ${record.intentSeq}`)
    }
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

/** Also if less is missing than was to be removed: a crash may have interrupted the removal. */
function isWithin(missing: ChainEnd | undefined, removed: ChainEnd): boolean {
  if (missing === undefined || isSameEnd(missing, removed)) return true
  if (missing.chain === removed.chain) return missing.seq < removed.seq
  return compareByAge(missing.chain, removed.chain) < 0
}

function isSameEnd(one: ChainEnd | undefined, other: ChainEnd | undefined): boolean {
  return one?.chain === other?.chain && one?.seq === other?.seq && one?.hash === other?.hash
}
