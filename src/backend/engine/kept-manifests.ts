import { constants } from 'node:fs'
import { link, mkdir, open, unlink } from 'node:fs/promises'
import path from 'node:path'
import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import type { KeptManifest, StagedManifest, StoredVersion } from './engine.ts'
import { nameManifest } from './manifest-names.ts'
import { stagingFiles } from './staging.ts'
import { eTagOf, hasErrorCode, readIfThere, storedVersion } from './stored-version.ts'
import { refuseLinks, storageKey, versionsFolder } from './versions-folder.ts'

/** See ManifestStore.keep: a second name of the same file, so that it costs nothing however large it is. */
export async function keepManifest(staged: StagedManifest, keptPath: string): Promise<StoredVersion> {
  const folder = path.dirname(keptPath)
  await mkdir(folder, { recursive: true })
  await link(staged.stagingPath, keptPath).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) throw invalidInput('manifest_path: the staging manifest is gone')
    if (!hasErrorCode(error, 'EXDEV')) throw error
    throw new InterfaceError(
      'Unsupported',
      'the table lies on another file system than the catalog; create its versions one by one',
    )
  })
  const timestampMillis = await flushUnchanged(keptPath, staged.eTag)
  // The file must be found after a loss of power, too.
  for (const parent of [folder, path.dirname(folder)]) await flush(parent)
  const { version, manifestSize, eTag, namingScheme } = staged
  const manifestPath = storageKey(staged.finalPath)
  return { version, manifestPath, manifestSize, eTag, timestampMillis, namingScheme }
}

/**
 * See ManifestStore.publishKept. The name follows from the version alone, and the other one is removed only if it
 * still is where the request said: the data folder may have been moved in between.
 */
export async function publishKept(location: string, kept: KeptManifest): Promise<void> {
  const folder = versionsFolder(location, kept.branch)
  const finalPath = path.join(folder, nameManifest(kept.version, kept.namingScheme))
  await mkdir(folder, { recursive: true })
  await refuseLinks(location, folder)
  try {
    await link(kept.keptPath, finalPath)
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST') && !hasErrorCode(error, 'ENOENT')) throw error
    if (!(await isPublished(kept, finalPath))) throw notPublishable(kept, error)
  }
  await flush(folder)
  await removeStaging(location, kept).catch(() => undefined)
}

/** True when the version is there: with the bytes that were kept, or as the very file where those are removed. */
async function isPublished(kept: KeptManifest, finalPath: string): Promise<boolean> {
  const [there, here] = await Promise.all([finalPath, kept.keptPath].map(readIfThere))
  if (there === undefined) return false
  return here === undefined ? (await storedVersion(finalPath))?.eTag === kept.eTag : there.equals(here)
}

function notPublishable({ version }: KeptManifest, cause: unknown): InterfaceError {
  return new InterfaceError(
    'ConcurrentModification',
    `version ${version} was committed, but storage was changed around the catalog`,
    { cause },
  )
}

async function removeStaging(location: string, kept: KeptManifest): Promise<void> {
  await unlink(stagingFiles(location, kept).stagingPath)
}

/** Makes a folder or a file last through a loss of power. */
export async function flush(file: string): Promise<void> {
  const handle = await open(file)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Throws InvalidInput unless it is the very file, unchanged, that was inspected. Answers when it was written. */
async function flushUnchanged(file: string, eTag: string): Promise<number> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
    throw hasErrorCode(error, 'ELOOP') ? changed() : error
  })
  try {
    const found = await handle.stat({ bigint: true })
    if (eTagOf(found) !== eTag) throw changed()
    await handle.sync()
    return Number(found.mtimeMs)
  } finally {
    await handle.close()
  }
}

function changed(): InterfaceError {
  return invalidInput('manifest_path: the staging manifest was changed while it was committed')
}
