import type { AuditMode, AuditSettings, RedactionSettings } from '../../config/index.ts'
import type { AuditLogEvent } from './chain-writer.ts'
import type { AuditObserver } from './group-commit.ts'
import type { Retention } from './retention.ts'

export interface AuditLogOptions {
  /** Created if missing. */
  readonly folder: string
  readonly gateway: string
  readonly software: string
  /** Size at which a segment is rotated. Default: 64 MiB. */
  readonly segmentBytes?: number
  /** Age at which a segment is rotated. Default: one hour. */
  readonly segmentMs?: number
  /** Ed25519 key of the seals (PKCS #8, PEM). Default: a key in the folder, generated if missing. */
  readonly sealKeyFile?: string | undefined
  /** Maximum number of records between two seals. Default: 1,000. */
  readonly sealRecords?: number
  /** Maximum time from a record to its seal. Default: 10 seconds. */
  readonly sealMs?: number
  /** Default: nothing is removed. */
  readonly retention?: Retention
  /** How changes are recorded. Default: `strict`. */
  readonly mode?: AuditMode
  /** Whether reads are recorded, too. Default: no. */
  readonly reads?: boolean
  /** Maximum number of queued records. Default: 10,000. */
  readonly queueRecords?: number
  /** Maximum size of the text of queued records. Default: 16 MiB. */
  readonly queueBytes?: number
  readonly redaction?: RedactionSettings
  readonly observer?: AuditObserver
  /** Receives events for the operator. Must not throw. */
  readonly onEvent?: (event: AuditLogEvent) => void
}

export function createAuditLogOptions(
  settings: AuditSettings,
): Omit<AuditLogOptions, 'gateway' | 'software'> {
  const { folder, sealKeyFile, mode, reads, retention, redaction } = settings
  const { maxAgeDays, maxBytes } = retention
  return {
    folder,
    sealKeyFile,
    mode,
    reads,
    redaction,
    retention: {
      ...(maxAgeDays !== undefined && { maxAgeMs: maxAgeDays * 86_400_000 }),
      ...(maxBytes !== undefined && { maxBytes }),
    },
  }
}
