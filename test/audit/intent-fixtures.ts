import type { AuditLogOptions } from '../../src/audit/log/audit-log.ts'
import type { Details, IntentEntry, OutcomeEntry } from '../../src/audit/records/audit-record.ts'

export function anIntent(request: string, details?: Details): IntentEntry {
  return {
    request,
    operation: 'CreateTableVersion',
    id: ['production', 'orders'],
    effect: 'commit',
    principal: { name: 'corp:alice', method: 'token', credentialId: '0123456789abcdef', issuer: 'corp' },
    rule: { policy: 'production', rule: 'writers', file: 'production.yaml', line: 12 },
    policyRevision: 'r1',
    client: '10.0.0.1',
    upstream: 'main',
    ...(details && { details }),
  }
}

export const committed: OutcomeEntry = { result: 'committed', status: 200, version: 7, durationMs: 3 }

/** Without seals by time: on a slow machine, one could come between any two records of a test. */
export function logOptions(folder: string, changed: Partial<AuditLogOptions> = {}): AuditLogOptions {
  return { folder, gateway: 'gateway-0', software: '0.1.0', sealMs: 3_600_000, ...changed }
}
