import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { DataSettings } from '../settings/backend-settings.ts'
import { localFileStorage } from './local-storage.ts'
import { makeFolder } from 'catalog-gateway/lib'
import { type Outbound } from 'catalog-gateway/outbound'

/**
 * Opens the configured storage. Returns it with the prefix of all names of the catalog: an absolute path without symbolic
 * links, or `s3://BUCKET/PREFIX`. Rejects with a plain error if it cannot be used.
 */
export async function openStorage({ folder, s3 }: DataSettings, outbound: Outbound) {
  if (s3 !== undefined) {
    // Loaded only if used: the client is large.
    const { openS3 } = await import('./open-s3.ts')
    return await openS3(s3, outbound)
  }
  if (folder === undefined) throw new Error('no storage configured')
  for (const name of ['tables', 'commits']) await makeFolder(join(folder, name))
  const root = await realpath(folder)
  return { storage: localFileStorage, root, close: () => {} }
}
