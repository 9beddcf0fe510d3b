import type { StatsFs } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { Counter, type Registry } from 'prom-client'
import { registerGauge } from './register-gauge.ts'
import type { AuditLogEvent } from '../../audit/log/chain-writer.ts'
import type { AuditLog, AuditStatus } from '../../audit/log/audit-log.ts'
import type { Logger } from '../log/gateway-log.ts'

/** Hex digits that a number represents exactly. */
const exactHexDigits = 12

export function registerAuditMetrics(registry: Registry, audit: AuditLog): void {
  const gauge = (name: string, help: string, read: (status: AuditStatus) => number): void =>
    registerGauge(registry, `audit_${name}`, help, () => read(audit.status()))
  gauge('writable', 'Whether changes can be recorded (1); if not (0), changes are refused.', ({ writable }) =>
    writable ? 1 : 0,
  )
  gauge('queued_records', 'Audit records queued for writing.', ({ queued }) => queued)
  gauge('pending_intents', 'Changes with an intent and no outcome yet.', ({ unresolved }) => unresolved)
}

/** The size and the free space of the volume of the audit log, which only grows unless there is a retention. */
export function registerAuditVolumeMetrics(registry: Registry, folder: string): void {
  const gauge = (name: string, help: string, read: (volume: StatsFs) => number): void =>
    registerGauge(registry, `audit_volume_${name}`, help, () => statfs(folder).then(read, () => NaN))
  gauge(
    'available_bytes',
    'Free space on the volume of the audit log; NaN if it cannot be read.',
    ({ bavail, bsize }) => bavail * bsize,
  )
  gauge(
    'size_bytes',
    'Size of the volume of the audit log; NaN if it cannot be read.',
    ({ blocks, bsize }) => blocks * bsize,
  )
}

/** A truncated log can be detected from stored metrics. The hash is no label: each would be a new series. */
export function registerAuditHeadMetrics(registry: Registry, audit: AuditLog): void {
  registerGauge(
    registry,
    'audit_head_sequence',
    'Sequence number of the last durable audit record of the current chain.',
    () => audit.status().head.seq,
  )
  registerGauge(
    registry,
    'audit_head_hash',
    'First 12 hex digits of the hash of that record, as a number; in hex, the beginning of its hash.',
    () => Number.parseInt(audit.status().head.hash.slice(0, exactHexDigits), 16),
  )
}

export function createAuditEventLogger(registry: Registry, log: Logger): (event: AuditLogEvent) => void {
  const tampered = new Counter({
    name: 'catalog_gateway_audit_tampered_total',
    help: 'Changes of audit log files by another writer, found while writing or at the start.',
    registers: [registry],
  })
  return (event) => {
    switch (event.kind) {
      case 'tampered':
        tampered.inc()
        log.error(
          { file: event.file, change: event.tampering, lines: event.lines },
          'audit log tampered with',
        )
        return
      case 'key_generated':
        log.info({ publicKeyFile: event.publicFile }, 'audit seal key created')
        return
      case 'pruned':
        log.info({ files: event.files }, 'audit segments removed')
        return
      case 'pruning_failed':
        log.error({ error: String(event.error) }, 'audit segment removal failed')
        return
      case 'recovered':
        log.warn({ ...event.repair }, 'audit log recovered')
    }
  }
}
