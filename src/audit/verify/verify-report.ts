import type { ChainEnd } from '../records/audit-record.ts'
import type { SealVerifier } from '../records/seal-key.ts'

/** A place where the log is not what was written. */
export interface AuditProblem {
  /** The name of the file in the folder. */
  readonly file: string
  /** Counts from 1; missing where the whole file is meant. */
  readonly line?: number
  /** The number of the record that should stand there, in its chain; missing where none can be told. */
  readonly seq?: number
  /** In words. */
  readonly what: string
}

/** What `verifyAuditLog` found. */
export interface VerifyReport {
  /** Nothing was changed, removed or added, as far as chain and seals can tell (see chain.ts). */
  readonly ok: boolean
  /** The chains and the records that were found good. */
  readonly chains: number
  readonly records: number
  /** The seals among them; their signatures were checked if keys were given. */
  readonly seals: number
  /** Intents without an outcome: of changes under way now, or at the crash that ended the newest chain. */
  readonly unresolved: number
  /** The records behind the last seal, and when the first of them was handed over: they are not signed yet. */
  readonly unsealed: { readonly records: number; readonly since?: string }
  /** The last record; outside of the log it proves that nothing up to there was cut off. */
  readonly head?: ChainEnd
  /** The last of the records that retention removed; missing where the log begins with its first record. */
  readonly pruned?: ChainEnd
  /** The first problem; nothing after it was read. */
  readonly problem?: AuditProblem
  /**
   * An unfinished line at the end of the newest chain: a crash that no start has recovered yet, or a record that
   * is being written now. No problem: nobody was promised such a record.
   */
  readonly tornTail?: { readonly file: string; readonly bytes: number }
  /**
   * What the journal beside the log says of its end; left out if the end is there. `needed`: so many bytes were read
   * from the journal, as the file lacks them after a power cut; the next start puts them back. `unreadable`: it is
   * damaged. `absent`: there is none, as after an orderly end. With the last two, it cannot be told whether the end of
   * the log is missing.
   */
  readonly journal?:
    | { readonly state: 'needed'; readonly file: string; readonly bytes: number }
    | { readonly state: 'unreadable'; readonly what: string }
    | { readonly state: 'absent' }
}

/** What a log is held against, and who hears how it goes on. */
export interface VerifyOptions {
  /** The public keys by which every seal must be signed; none: signatures are not checked. */
  readonly keys?: readonly SealVerifier[]
  /** Hears the hash of each record that was found good. */
  readonly onRecord?: (hash: string) => void
  /** Hears the name of each file that was read, and the number of records so far. */
  readonly onProgress?: (file: string, records: number) => void
}
