import { checkLine, zeroHash, getSignedText, type CheckedLine } from '../records/hash-chain.ts'
import { readLines, type FileLine } from '../../lib/fs/read-lines.ts'
import { computeRootFromPath } from '../records/merkle.ts'
import type { ProofHead, SealedRecords } from './prove-table.ts'
import type { ObjectId } from '../records/audit-record.ts'
import type { SealVerifier } from '../records/seal-key.ts'

export interface ProofReport {
  /** Whether each record was signed by one of the keys, and none is missing between the first and the last. */
  readonly ok: boolean
  readonly table: ObjectId
  /** Number of valid records, and the times of the first and the last. */
  readonly records: number
  readonly first?: string
  readonly last?: string
  /** Whether the log knew no record of the table before the first. */
  readonly isFromBeginning: boolean
  /** The first problem, with its line in the proof. */
  readonly problem?: { readonly line: number; readonly what: string }
}

/**
 * Verifies concatenated proofs of `proveTable` with public keys only: records are authentic, and none is missing
 * between the first and the last. Later records and other logs are not covered. Ends with the first invalid proof.
 */
export async function verifyProofs(
  file: string,
  keys: readonly SealVerifier[],
): Promise<readonly ProofReport[]> {
  const reports: ProofReport[] = []
  let verifier = new ProofVerifier(keys)
  let started = 0
  for await (const line of readLines(file)) {
    if (started > 0 && isProofHead(parseObject(line.bytes))) {
      const report = verifier.finish(started)
      reports.push(report)
      if (!report.ok) return reports
      verifier = new ProofVerifier(keys)
      started = 0
    }
    if (started === 0) started = line.number
    const problem = verifier.addLine(line)
    if (problem !== undefined) return [...reports, verifier.report({ line: line.number, what: problem })]
  }
  return [...reports, verifier.finish(Math.max(1, started))]
}

class ProofVerifier {
  records = 0
  readonly #keys: readonly SealVerifier[]
  #table: ObjectId | undefined
  #first: CheckedLine | undefined
  #last: CheckedLine | undefined

  constructor(keys: readonly SealVerifier[]) {
    this.#keys = keys
  }

  addLine({ bytes, end }: FileLine): string | undefined {
    if (end !== 'newline') return 'the line does not end in a newline'
    const value = parseObject(bytes)
    if (this.#table === undefined) {
      if (!isProofHead(value)) return 'not a proof of format version 1'
      this.#table = value.table
      return undefined
    }
    return isSealedRecords(value) ? this.#addSealedRecords(value) : 'the line is not a seal with records'
  }

  finish(line: number): ProofReport {
    return this.report(this.records === 0 ? { line, what: 'the proof has no record' } : undefined)
  }

  report(problem: ProofReport['problem']): ProofReport {
    const [first, last] = [this.#first, this.#last]
    return {
      ok: problem === undefined,
      table: this.#table ?? [],
      records: this.records,
      ...(first && { first: first.record.time }),
      ...(last && { last: last.record.time }),
      isFromBeginning: first !== undefined && this.#findLink(first) === zeroHash,
      ...(problem && { problem }),
    }
  }

  #addSealedRecords({ seal, records }: SealedRecords): string | undefined {
    const line = Buffer.from(seal)
    const checked = checkLine(line)
    if (typeof checked === 'string') return `the seal: ${checked}`
    const { record } = checked
    if (record.kind !== 'seal') return 'the record is not a seal'
    const verifier = this.#keys.find(({ id }) => id === record.key)
    if (!verifier)
      return `the seal is signed with the key ${record.key}; pass its public key with --public-key`
    if (!verifier.verify(getSignedText(line), record.signature ?? '')) {
      return 'the signature of the seal is invalid'
    }
    for (const { line, index, path } of records) {
      const proved = checkLine(Buffer.from(line))
      if (typeof proved === 'string') return `a record: ${proved}`
      if (computeRootFromPath(proved.hash, index, record.leaves, path) !== record.root) {
        return `record ${proved.record.seq} is not covered by the seal`
      }
      const problem = this.#addRecord(proved)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #addRecord(proved: CheckedLine): string | undefined {
    const { chain, seq } = proved.record
    const link = this.#findLink(proved)
    if (link === undefined) return `record ${seq} of chain ${chain} is not about the table`
    if (this.#last && link !== this.#last.hash) {
      return `a record of the table is missing before record ${seq} of chain ${chain}`
    }
    this.#first ??= proved
    this.#last = proved
    this.records += 1
    return undefined
  }

  #findLink({ record }: CheckedLine): string | undefined {
    const text = JSON.stringify(this.#table)
    return record.tables?.find(({ id }) => JSON.stringify(id) === text)?.prev
  }
}

function parseObject(bytes: Buffer): object {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

function isProofHead(value: object): value is ProofHead {
  return 'proof' in value && value.proof === 1 && 'table' in value && Array.isArray(value.table)
}

function isSealedRecords(value: object): value is SealedRecords {
  const { seal, records } = value as Partial<SealedRecords>
  return typeof seal === 'string' && Array.isArray(records) && records.every(isProvedRecord)
}

function isProvedRecord(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { line, index, path } = value as Partial<SealedRecords['records'][number]>
  return (
    typeof line === 'string' &&
    Number.isSafeInteger(index) &&
    Array.isArray(path) &&
    path.every((hash) => typeof hash === 'string')
  )
}
