import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditRecord } from '../../src/audit/records/audit-record.ts'

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
