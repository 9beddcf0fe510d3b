import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { DataSettings } from '../../config/backend/storage-settings.ts'
import { localFileStorage } from './local-storage.ts'
import type { Storage } from './storage.ts'
import { makeFolder } from '../../lib/fs/make-folder.ts'

/** The storage of a catalog, opened. */
export interface OpenedStorage {
  readonly storage: Storage
  /** What all names of the catalog begin with: an absolute path without symbolic links, or `s3://BUCKET/PREFIX`. */
  readonly root: string
  readonly getClientOptions: GetClientOptions
  readonly close: () => void
}

/**
 * What a client who opens the table at that location by itself is told, by the names of Lance's storage options; with
 * credentials only where they are wanted and the settings say so. Undefined where there is nothing to tell. Throws
 * ServiceUnavailable (503) while there are no credentials to be had.
 */
export type GetClientOptions = (
  location: string,
  wantsCredentials: boolean,
) => Promise<Readonly<Record<string, string>> | undefined>

/** Opens the storage that the settings choose. Rejects with a plain error when it cannot be used. */
export async function openStorage({ folder, s3 }: DataSettings): Promise<OpenedStorage> {
  if (s3 !== undefined) {
    // Loaded where it is used alone: the client is large.
    const { openS3 } = await import('./open-s3.ts')
    return await openS3(s3)
  }
  if (folder === undefined) throw new Error('no storage configured')
  for (const name of ['tables', 'commits']) await makeFolder(join(folder, name))
  const root = await realpath(folder)
  return { storage: localFileStorage, root, getClientOptions: async () => undefined, close: () => {} }
}
