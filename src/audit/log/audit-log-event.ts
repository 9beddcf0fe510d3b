import type { ChainEnd, FileTampering } from '../records/audit-record.ts'
import type { Repair } from './recovery.ts'

export type AuditLogEvent =
  | { readonly kind: 'sealed'; readonly head: ChainEnd }
  /** Another process removed, replaced or changed the active segment. */
  | { readonly kind: 'tampered'; readonly file: string; readonly tampering: FileTampering }
  /** A seal key was generated. Its public half should be copied to a location that this host cannot modify. */
  | { readonly kind: 'key_generated'; readonly publicFile: string }
  | { readonly kind: 'pruned'; readonly files: readonly string[] }
  | { readonly kind: 'pruning_failed'; readonly error: unknown }
  | { readonly kind: 'recovered'; readonly repair: Repair }
  /** The journal could not be created: each group waits for the slower sync of the segment itself. */
  | { readonly kind: 'journal_unavailable'; readonly error: unknown }
