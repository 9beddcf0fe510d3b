import { createMerklePaths } from '../records/merkle.ts'
import { readRecordLines, type StoredRecord } from '../storage/read-audit-log.ts'
import type { ObjectId } from '../records/audit-record.ts'
import { mentionsTable } from '../query/select-records.ts'

/** The first line of a proof. */
export interface ProofHead {
  readonly proof: 1
  readonly table: ObjectId
}

/** Each further line: a seal, and the records of the table among those that it signs. */
export interface SealedRecords {
  /** The line of the seal in the log. */
  readonly seal: string
  readonly records: readonly ProvedRecord[]
}

interface ProvedRecord {
  /** The line of the record in the log. */
  readonly line: string
  /** Its place among the records of the seal, and its audit path to the root that the seal names. */
  readonly index: number
  readonly path: readonly string[]
}

/** What was proved. */
export interface ProofCounts {
  readonly records: number
  /** Records of the table behind the last seal: they are not in the proof. */
  readonly unsealed: number
}

/**
 * The history of one table, as lines of JSON that `verifyProofs` checks without the log. It holds no record that does
 * not speak of the table; one that speaks of others too shows their ids. No lines where there is nothing to prove.
 * Rejects when the log cannot be read.
 */
export async function* proveTable(folder: string, table: ObjectId): AsyncGenerator<string, ProofCounts> {
  let hashes: string[] = []
  let found: { line: string; index: number }[] = []
  let records = 0
  for await (const line of readRecordLines(folder)) {
    const record = JSON.parse(line) as StoredRecord
    if (record.kind !== 'seal') {
      if (mentionsTable(record, table)) found.push({ line, index: hashes.length })
      hashes.push(record.hash)
      continue
    }
    // Of the first seal of a log that was pruned, some records may be gone: what is left of them is not proved.
    if (found.length > 0 && record.leaves === hashes.length) {
      const paths = createMerklePaths(
        hashes,
        found.map(({ index }) => index),
      )
      const proved = found.map((record, which) => ({ ...record, path: paths[which] ?? [] }))
      if (records === 0) yield JSON.stringify({ proof: 1, table } satisfies ProofHead)
      yield JSON.stringify({ seal: line, records: proved } satisfies SealedRecords)
      records += found.length
    }
    hashes = []
    found = []
  }
  return { records, unsealed: found.length }
}
