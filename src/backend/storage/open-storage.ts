import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { DataSettings } from '../../config/storage-settings.ts'
import { localFileStorage } from './local-storage.ts'
import type { Storage } from './storage.ts'
import { makeFolder } from '../../lib/fs/make-folder.ts'

export interface OpenedStorage {
  readonly storage: Storage
  /** The prefix of all names of the catalog: an absolute path without symbolic links, or `s3://BUCKET/PREFIX`. */
  readonly root: string
  readonly getClientOptions: GetClientOptions
  readonly close: () => void
}

/**
 * Returns the Lance storage options for a client that opens the table at that location; with credentials only if
 * requested and configured. Undefined if there are none. Throws ServiceUnavailable (503) while no credentials can be
 * issued.
 */
export type GetClientOptions = (
  location: string,
  wantsCredentials: boolean,
) => Promise<Readonly<Record<string, string>> | undefined>

/** Opens the configured storage. Rejects with a plain error if it cannot be used. */
export async function openStorage({ folder, s3 }: DataSettings): Promise<OpenedStorage> {
  if (s3 !== undefined) {
    // Loaded only if used: the client is large.
    const { openS3 } = await import('./open-s3.ts')
    return await openS3(s3)
  }
  if (folder === undefined) throw new Error('no storage configured')
  for (const name of ['tables', 'commits']) await makeFolder(join(folder, name))
  const root = await realpath(folder)
  return { storage: localFileStorage, root, getClientOptions: async () => undefined, close: () => {} }
}
