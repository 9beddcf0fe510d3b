import { relative } from 'node:path'
import { listLogFolders } from '../storage/log-folders.ts'
import { verifyAuditLog, type VerifyReport } from './verify-audit-log.ts'
import type { VerifyOptions } from './verify-report.ts'

export interface VerifyLogsReport {
  /** In order, up to the first log with a problem; later logs were not read. */
  readonly logs: readonly VerifiedLog[]
  readonly missingHeads: readonly string[]
}

export interface VerifiedLog {
  /** Path of its folder relative to that of the gateway; empty for the latter. */
  readonly name: string
  readonly report: VerifyReport
}

export interface VerifyLogsOptions extends Omit<VerifyOptions, 'onRecord'> {
  /** Hashes of records that must exist in one of the logs, or at least their first 12 digits. */
  readonly expectedHeads?: readonly string[]
}

/** Verifies all logs of a gateway. The removal of an entire log is detected only by an expected head. */
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
