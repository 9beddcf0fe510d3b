import type { ChainEnd } from '../records/audit-record.ts'
import type { SealVerifier } from '../records/seal-key.ts'

export interface AuditProblem {
  readonly file: string
  /** Counts from 1; absent if the problem concerns the whole file. */
  readonly line?: number
  /** Expected number of the record in its chain; absent if unknown. */
  readonly seq?: number
  readonly what: string
}

export interface VerifyReport {
  /** Whether no change, removal or addition was detected by the chain and the seals (see hash-chain.ts). */
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
  /** The first problem; later lines were not read. */
  readonly problem?: AuditProblem
  /** An unfinished last line, after a crash or during a write: no problem, as it was never acknowledged. */
  readonly tornTail?: { readonly file: string; readonly bytes: number }
}

export interface VerifyOptions {
  /** Public keys of which one must have signed each seal. If undefined, signatures are not verified. */
  readonly keys?: readonly SealVerifier[]
  /** Called with the name of each completed file and the number of records so far. */
  readonly onProgress?: (file: string, records: number) => void
}
