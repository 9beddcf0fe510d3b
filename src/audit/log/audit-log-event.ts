import type { ChainEnd, FileTampering } from '../records/audit-record.ts'
import type { Repair } from './recovery.ts'

/** Something that whoever runs the gateway may want to know. */
export type AuditLogEvent =
  /** The log is signed up to here. */
  | { readonly what: 'sealed'; readonly head: ChainEnd }
  /** Somebody else removed, replaced or changed the file that is written. */
  | { readonly what: 'tampered'; readonly file: string; readonly trouble: FileTampering }
  /** A key for the seals was made; its public half should be copied to where the log cannot reach. */
  | { readonly what: 'key made'; readonly publicFile: string }
  /** Old segments were removed, or could not be. */
  | { readonly what: 'pruned'; readonly files: readonly string[] }
  | { readonly what: 'unpruned'; readonly error: unknown }
  /** The writer before did not end in order, and what it left was made good. */
  | { readonly what: 'recovered'; readonly repair: Repair }
  /** No journal could be made: each group waits for the file itself, which takes longer. */
  | { readonly what: 'unjournaled'; readonly error: unknown }
