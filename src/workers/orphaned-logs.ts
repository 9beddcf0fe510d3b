import { hostname } from 'node:os'
import { lockFolder } from '../audit/log/folder-lock.ts'
import { listWorkerLogFolders } from '../audit/storage/log-folders.ts'
import { openAuditLog } from '../audit/log/audit-log.ts'
import { recoverFolder } from '../audit/log/recovery.ts'
import { type AuditSettings } from '../config/audit/audit-settings.ts'
import { createAuditLogOptions } from '../audit/log/audit-log-options.ts'
import { ignoreMissing } from '../lib/fs/system-error.ts'
import { version } from '../version.ts'
import { createWorkerAuditSettings } from './settings-for-worker.ts'

/**
 * Adds outcomes (unknown) for intents of killed workers beyond the current number. Call it only while no worker runs.
 */
export async function completeOrphanedLogs(audit: AuditSettings, workers: number): Promise<void> {
  const folders = await listWorkerLogFolders(audit.folder).catch(ignoreMissing)
  for (const [number, folder] of folders ?? []) {
    if (number <= workers) continue
    if (!(await needsCompletion(folder))) continue
    const options = {
      ...createAuditLogOptions(createWorkerAuditSettings(audit, number, number)),
      retention: {},
      reserveBytes: 0,
    }
    const log = await openAuditLog({ ...options, gateway: hostname(), software: version })
    await log.close()
  }
}

async function needsCompletion(folder: string): Promise<boolean> {
  const lock = await lockFolder(folder)
  try {
    const { unresolved, repairs } = await recoverFolder(folder)
    return unresolved.length > 0 || repairs.some(({ damage }) => damage !== undefined)
  } finally {
    await lock.release()
  }
}
