import { readAuditLog } from '../../src/audit/storage/read-audit-log.ts'
import type { AuditRecord } from '../../src/audit/records/audit-record.ts'

/** A change in the audit log; without an outcome if it is in progress, or was when the gateway was killed. */
export interface AuditedChange {
  readonly intent: AuditRecord<'intent'>
  readonly outcome: AuditRecord<'outcome'> | undefined
}

/** Returns the changes of that operation, or of all, oldest first; with an id, only those of that object. */
export async function auditedChanges(
  folder: string,
  operation?: string,
  id?: readonly string[],
): Promise<AuditedChange[]> {
  const intents: AuditRecord<'intent'>[] = []
  const outcomes = new Map<string, AuditRecord<'outcome'>>()
  for await (const record of readAuditLog(folder)) {
    if (record.kind === 'intent') intents.push(record)
    if (record.kind === 'outcome')
      outcomes.set(`${record.intentChain ?? record.chain} ${record.intentSeq}`, record)
  }
  return intents
    .filter((intent) => operation === undefined || intent.operation === operation)
    .filter((intent) => id === undefined || JSON.stringify(intent.id) === JSON.stringify(id))
    .map((intent) => ({ intent, outcome: outcomes.get(`${intent.chain} ${intent.seq}`) }))
}
