import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditLogOptions } from '../../src/audit/log/audit-log.ts'
import type { AuditRecord, Details } from '../../src/audit/records/audit-record.ts'
import { anIntent } from './intent-fixtures.ts'

export { anIntent, committed } from './intent-fixtures.ts'

/** Without seals by time: on a slow machine, one could come between any two records of a test. */
export function logOptions(folder: string, changed: Partial<AuditLogOptions> = {}): AuditLogOptions {
  return { folder, gateway: 'gateway-0', software: '0.1.0', sealMs: 3_600_000, ...changed }
}

export function aRefusal(request: string, details?: Details) {
  const { operation, id, principal, client } = anIntent(request)
  const extra = details && { details }
  return { request, status: 403, reason: 'no_rule', operation, id, principal, client, ...extra }
}

export async function segmentsOf(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((file) => file.endsWith('.jsonl')).toSorted()
}

/** Reads all records of a folder in order, independently of the code under test. */
export async function recordsOf(folder: string): Promise<AuditRecord[]> {
  const texts = (await segmentsOf(folder)).map((file) => readFile(join(folder, file), 'utf8'))
  const lines = (await Promise.all(texts)).flatMap((text) => text.split('\n').slice(0, -1))
  return lines.map((line) => JSON.parse(line) as AuditRecord)
}

export function ofKind<Kind extends AuditRecord['kind']>(records: readonly AuditRecord[], kind: Kind) {
  return records.filter((record): record is Extract<AuditRecord, { kind: Kind }> => record.kind === kind)
}
