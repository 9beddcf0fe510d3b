import type { ChainEnd, FileTampering } from '../records/audit-record.ts'
import type { Repair } from './recovery.ts'

/** Events for the operator of the gateway. */
export type AuditLogEvent =
  /** The log is sealed up to `head`. */
  | { readonly what: 'sealed'; readonly head: ChainEnd }
  /** Another process removed, replaced or changed the active segment. */
  | { readonly what: 'tampered'; readonly file: string; readonly trouble: FileTampering }
  /** A seal key was generated. Its public half should be copied to a location that this host cannot modify. */
  | { readonly what: 'key made'; readonly publicFile: string }
  /** Old segments were removed, or the removal failed. */
  | { readonly what: 'pruned'; readonly files: readonly string[] }
  | { readonly what: 'unpruned'; readonly error: unknown }
  /** The previous writer did not shut down cleanly; the damage was repaired. */
  | { readonly what: 'recovered'; readonly repair: Repair }
  /** The journal could not be created: each group waits for the slower sync of the segment itself. */
  | { readonly what: 'unjournaled'; readonly error: unknown }
