import { copyFile, readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openAuditLog, type AuditLog, type AuditLogOptions } from '../../src/audit/log/audit-log.ts'
import type { AuditRecord, Details } from '../../src/audit/records/audit-record.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { anIntent, committed, logOptions } from './intent-fixtures.ts'

export { anIntent, committed, logOptions } from './intent-fixtures.ts'

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
