import type { AuditSettings } from '../../config/audit/audit-settings.ts'
import type { AuditLogEvent } from './audit-log-event.ts'
import type { AuditObserver } from './group-commit.ts'
import type { AuditModes } from '../../config/audit/audit-modes.ts'
import type { RedactionSettings } from '../../config/audit/redaction-settings.ts'
import type { Retention } from './retention.ts'

/** What a log is opened with. */
export interface AuditLogOptions {
  /** Created when missing. */
  readonly folder: string
  /** The name of the gateway instance. */
  readonly gateway: string
  /** The version of the software. */
  readonly software: string
  /** A segment that has reached so many bytes is followed by the next one: 64 MiB. */
  readonly segmentBytes?: number
  /** Likewise one that is so old: an hour. */
  readonly segmentMs?: number
  /** The Ed25519 key of the seals (PKCS #8, PEM); else it lies in the folder, and is made there. */
  readonly sealKeyFile?: string | undefined
  /** So many records follow a seal at most: 1,000. */
  readonly sealRecords?: number
  /** A record waits so long for its seal at most: 10 seconds. */
  readonly sealMs?: number
  /** The disk space that is kept for what must be written when the rest is full: none. */
  readonly reserveBytes?: number
  /** What is removed: nothing. */
  readonly retention?: Retention
  /** `defaultModes`. */
  readonly modes?: AuditModes
  /** So many records may wait for the disk: 10,000. */
  readonly queueRecords?: number
  /** When the text of the records that wait for the disk has reached so many bytes, it is full: 16 MiB. */
  readonly queueBytes?: number
  /** What the records do not hold as it was sent: SQL filters, unless told. */
  readonly redaction?: RedactionSettings
  readonly observer?: AuditObserver
  /** Hears what whoever runs the gateway may want to know. Must not throw. */
  readonly onEvent?: (note: AuditLogEvent) => void
}

/** What those settings say to whoever opens the log. */
export function createAuditLogOptions(
  settings: AuditSettings,
): Omit<AuditLogOptions, 'gateway' | 'software'> {
  const {
    folder,
    sealKeyFile,
    modes,
    maxSegmentBytes,
    maxRecordsPerSeal,
    reserveBytes,
    retention,
    redaction,
  } = settings
  const { maxAgeDays, maxBytes } = retention
  return {
    folder,
    sealKeyFile,
    modes,
    segmentBytes: maxSegmentBytes,
    segmentMs: settings.maxSegmentAgeMinutes * 60_000,
    sealRecords: maxRecordsPerSeal,
    sealMs: settings.sealIntervalSeconds * 1_000,
    reserveBytes,
    redaction,
    retention: {
      ...(maxAgeDays !== undefined && { maxAgeMs: maxAgeDays * 86_400_000 }),
      ...(maxBytes !== undefined && { maxBytes: maxBytes }),
    },
  }
}
