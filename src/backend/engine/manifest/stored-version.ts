import path from 'node:path'
import type { FileInfo, ListedFile, Storage } from '../../storage/storage.ts'
import type { StoredVersion } from './manifest-records.ts'
import { parseManifestName } from './manifest-names.ts'

/** Reads the version of a manifest file; undefined if the file is missing or not a manifest. */
export async function readStoredVersion(storage: Storage, file: string): Promise<StoredVersion | undefined> {
  return await toStoredVersion(storage, path.posix.dirname(file), {
    name: path.posix.basename(file),
    stat: () => storage.stat(file),
  })
}

export async function toStoredVersion(
  storage: Storage,
  folder: string,
  { name, stat }: ListedFile,
): Promise<StoredVersion | undefined> {
  const parsed = parseManifestName(name)
  const found = parsed && (await stat())
  return parsed && found && { ...parsed, ...describe(storage, `${folder}/${name}`, found) }
}

function describe(storage: Storage, file: string, { size, eTag, modifiedMillis }: FileInfo) {
  return { manifestPath: storage.toKey(file), manifestSize: size, eTag, timestampMillis: modifiedMillis }
}
