import { relative } from 'node:path'
import { listLogFolders } from '../storage/log-folders.ts'
import { verifyAuditLog, type VerifyReport } from './verify-audit-log.ts'
import type { VerifyOptions } from './verify-report.ts'

/** What was found in each log of a gateway. */
export interface VerifyLogsReport {
  /** In order, up to the first that has a problem: nothing after it was read. */
  readonly logs: readonly VerifiedLog[]
  /** Of the heads that must be there those that were not found. */
  readonly missingHeads: readonly string[]
}

/** One of the logs. */
export interface VerifiedLog {
  /** Its folder beneath that of the gateway; empty for that itself. */
  readonly name: string
  readonly report: VerifyReport
}

/** What the logs are held against. */
export interface VerifyLogsOptions extends Omit<VerifyOptions, 'onRecord'> {
  /** The hashes, or at least 12 first digits of them, of records of which each must be in one of the logs. */
  readonly expectedHeads?: readonly string[]
}

/**
 * Checks every log of a gateway as `verifyAuditLog` does: that in the folder, and those of its further workers beneath.
 * That one of them was removed whole shows only by a head that is expected there.
 */
export async function verifyAuditLogs(
  folder: string,
  { expectedHeads = [], ...options }: VerifyLogsOptions = {},
): Promise<VerifyLogsReport> {
  const missing = new Set(expectedHeads)
  const onRecord = (hash: string): void => {
    for (const head of missing) if (hash.startsWith(head)) missing.delete(head)
  }
  const logs: VerifiedLog[] = []
  for (const each of await listLogFolders(folder)) {
    const report = await verifyAuditLog(each, { ...options, onRecord })
    logs.push({ name: relative(folder, each), report })
    if (!report.ok) break
  }
  return { logs, missingHeads: [...missing] }
}
