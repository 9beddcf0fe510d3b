import { createMerklePaths } from '../records/merkle.ts'
import { readRecordLines, readStoredRecord } from '../storage/read-audit-log.ts'
import type { ObjectId } from '../records/audit-record.ts'
import { mentionsTable } from '../query/select-records.ts'

export interface ProofHead {
  readonly proof: 1
  readonly table: ObjectId
}

/** Each further line: a seal, and those of the sealed records that concern the table. */
export interface SealedRecords {
  readonly seal: string
  readonly records: readonly ProvedRecord[]
}

interface ProvedRecord {
  readonly line: string
  /** Its index among the sealed records, and its audit path to the root in the seal. */
  readonly index: number
  readonly path: readonly string[]
}

export interface ProofCounts {
  readonly records: number
  /** Records of the table after the last seal, which are not part of the proof. */
  readonly unsealed: number
}

/**
 * Proves the history of one table as JSON lines that `verifyProofs` checks without the log. A record that also concerns
 * other tables reveals their ids. Rejects if a line of the log is not a record.
 */
export async function* proveTable(folder: string, table: ObjectId): AsyncGenerator<string, ProofCounts> {
  let hashes: string[] = []
  let found: { line: string; index: number }[] = []
  let records = 0
  for await (const line of readRecordLines(folder)) {
    const record = readStoredRecord(line)
    if (record.kind !== 'seal') {
      if (mentionsTable(record, table)) found.push({ line, index: hashes.length })
      hashes.push(record.hash)
      continue
    }
    // Some records of the first seal of a pruned log may be removed: the remaining ones cannot be proved.
    if (found.length > 0 && record.leaves === hashes.length) {
      const paths = createMerklePaths(
        hashes,
        found.map(({ index }) => index),
      )
      const proved = found.map((record, order) => ({ ...record, path: paths[order] ?? [] }))
      if (records === 0) yield JSON.stringify({ proof: 1, table } satisfies ProofHead)
      yield JSON.stringify({ seal: line, records: proved } satisfies SealedRecords)
      records += found.length
    }
    hashes = []
    found = []
  }
  return { records, unsealed: found.length }
}
