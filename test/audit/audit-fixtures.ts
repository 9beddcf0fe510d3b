import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openAuditLog, type AuditLog, type AuditLogOptions } from '../../src/audit/log/audit-log.ts'
import type { Details } from '../../src/audit/records/audit-record.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { anIntent, committed, logOptions } from './intent-fixtures.ts'
import { segmentsOf } from './read-records.ts'

export { anIntent, committed, logOptions } from './intent-fixtures.ts'
export { ofKind, recordsOf, segmentsOf } from './read-records.ts'

export function aRefusal(request: string, details?: Details) {
  const { operation, id, principal, client } = anIntent(request)
  const extra = details && { details }
  return { request, status: 403, reason: 'no_rule', operation, id, principal, client, ...extra }
}

/** Opens a log in a folder of its own, which is removed at the end of the test. The caller closes the log. */
export async function openLog(
  changed: Partial<AuditLogOptions> = {},
): Promise<{ readonly folder: string; readonly log: AuditLog }> {
  const folder = await temporaryFolder()
  return { folder, log: await openAuditLog(logOptions(folder, changed)) }
}

/** Records changes with their outcomes, named by their number. */
export async function writeChanges(log: AuditLog, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1)
    await log.recordOutcome(await log.recordIntent(anIntent(`${n}`)), committed)
}

/** Copies the segments and the key of a running log, as a crash at this moment would leave them. */
export async function copyLog(folder: string): Promise<string> {
  const copy = await temporaryFolder()
  for (const file of [...(await segmentsOf(folder)), 'seal-key.pem', 'seal-public-key.pem'])
    await copyFile(join(folder, file), join(copy, file))
  return copy
}
