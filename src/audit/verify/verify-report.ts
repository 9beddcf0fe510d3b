import type { ChainEnd } from '../records/audit-record.ts'
import type { SealVerifier } from '../records/seal-key.ts'
import type { LogProblem } from '../storage/read-audit-log.ts'

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
  /** Called with the name of each completed file and the number of records so far. */
  readonly onProgress?: (file: string, records: number) => void
}
