import { join } from 'node:path'
import { readLines } from '../../lib/fs/read-lines.ts'
import type { AuditRecord } from '../records/audit-record.ts'
import { parseRecord } from '../records/hash-chain.ts'
import type { SealVerifier } from '../records/seal-key.ts'
import { listChains } from '../storage/segment-names.ts'
import { LogVerifier } from '../verify/log-verifier.ts'
import type { Recovery } from './recovery.ts'

/**
 * Returns the revision of the policy files that a recovered log records last as in force. Undefined if it records none,
 * or if this cannot be proven: the newest segment is damaged, or the record is not sealed by this key. Reads one segment,
 * because each segment after the record states the revision at its start.
 */
export async function readRecordedPolicyFiles(
  folder: string,
  { repairs }: Recovery,
  key: SealVerifier,
): Promise<string | undefined> {
  const newest = (await listChains(folder)).at(-1)
  if (newest === undefined || repairs.some(({ damage }) => damage !== undefined)) return undefined
  // A crash right after a rotation leaves an empty last segment.
  for (const file of newest.segments.toReversed()) {
    const verifier = new LogVerifier({ keys: [key] })
    verifier.beginChain(newest.chain)
    let stated: string | undefined
    let sealed: string | undefined
    for await (const line of readLines(join(folder, file))) {
      if (verifier.addLine(line) !== undefined) return undefined
      const record = parseRecord(line.bytes.toString('utf8'))
      if (record?.kind === 'seal') sealed = stated
      else if (record !== undefined) stated = findRevision(record) ?? stated
    }
    if (!verifier.isChainEmpty) return sealed === stated ? sealed : undefined
  }
  return undefined
}

function findRevision(record: AuditRecord): string | undefined {
  if (record.kind === 'start' || record.kind === 'segment') return record.policyFiles
  return record.kind === 'reload' && record.what === 'policyFiles' ? record.revision : undefined
}
