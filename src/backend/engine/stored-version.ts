import path from 'node:path'
import type { FileFacts, ListedFile, Storage } from '../storage/storage.ts'
import type { StoredVersion } from './engine.ts'
import { parseManifestName } from './manifest-names.ts'

/** The version that a manifest stands for; undefined when the file is not there or is no manifest. */
export async function storedVersion(storage: Storage, file: string): Promise<StoredVersion | undefined> {
  return await versionOf(storage, path.posix.dirname(file), {
    name: path.posix.basename(file),
    facts: () => storage.facts(file),
  })
}

/** The version that a file of a versions folder stands for. */
export async function versionOf(
  storage: Storage,
  folder: string,
  { name, facts }: ListedFile,
): Promise<StoredVersion | undefined> {
  const parsed = parseManifestName(name)
  const found = parsed && (await facts())
  return parsed && found && { ...parsed, ...describe(storage, `${folder}/${name}`, found) }
}

function describe(storage: Storage, file: string, { size, eTag, modifiedMillis }: FileFacts) {
  return { manifestPath: storage.keyOf(file), manifestSize: size, eTag, timestampMillis: modifiedMillis }
}
