import path from 'node:path'
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { isSameTag, type Storage } from '../../storage/storage.ts'
import type { RetainedManifest, StagedManifest, StoredVersion } from './manifest-records.ts'
import { formatManifestName } from './manifest-names.ts'
import { resolveStagingFiles } from './inspect-staging.ts'
import { readStoredVersion } from './stored-version.ts'
import { versionsFolder } from './versions-folder.ts'

/** See `ManifestStore.retain`. In local folders a hard link, so the size does not matter. */
export async function retainManifest(
  storage: Storage,
  staged: StagedManifest,
  retainedPath: string,
): Promise<StoredVersion> {
  const folder = path.posix.dirname(retainedPath)
  await storage.makeFolder(folder)
  const outcome = await storage.link(staged.stagingPath, retainedPath, staged.eTag)
  if (outcome === 'missing') throw invalidInput('manifest_path: the staging manifest no longer exists')
  if (outcome === 'taken') throw new Error('the name for a retained manifest is taken')
  const info = outcome === 'linked' ? await storage.stat(retainedPath) : undefined
  if (info === undefined) throw manifestChangedError()
  // The file must survive a power failure.
  for (const name of [retainedPath, folder, path.posix.dirname(folder)]) await storage.flush(name)
  const { version, manifestSize, eTag, namingScheme } = staged
  const manifestPath = storage.toKey(staged.finalPath)
  return { version, manifestPath, manifestSize, eTag, timestampMillis: info.modifiedMillis, namingScheme }
}

/** See `ManifestStore.publishRetained`. */
export async function publishRetainedManifest(
  storage: Storage,
  location: string,
  retained: RetainedManifest,
): Promise<void> {
  const folder = versionsFolder(location, retained.branch)
  const finalPath = `${folder}/${formatManifestName(retained.version, retained.namingScheme)}`
  await storage.makeFolder(folder)
  await storage.assertNoLinks(location, folder)
  const outcome = await storage.link(retained.retainedPath, finalPath)
  if (outcome !== 'linked' && !(await isPublished(storage, retained, finalPath)))
    throw notPublishableError(retained)
  await finishPublishing(storage, finalPath, findStaging(storage, location, retained))
}

/**
 * Makes a manifest survive a power failure under its final name, then removes the staging name. The version is committed
 * even if that fails.
 */
export async function finishPublishing(
  storage: Storage,
  finalPath: string,
  stagingPath: string | undefined,
): Promise<void> {
  for (const name of [finalPath, path.posix.dirname(finalPath)]) await storage.flush(name)
  if (stagingPath !== undefined) await storage.remove(stagingPath).catch(() => undefined)
}

/** Whether the version exists: with the retained bytes or, if the retained file is missing, as the same file. */
async function isPublished(
  storage: Storage,
  retained: RetainedManifest,
  finalPath: string,
): Promise<boolean> {
  const [publishedFile, retainedFile] = await Promise.all(
    [finalPath, retained.retainedPath].map((file) => storage.read(file)),
  )
  if (publishedFile === undefined) return false
  if (retainedFile !== undefined) return publishedFile.bytes.equals(retainedFile.bytes)
  const published = await readStoredVersion(storage, finalPath)
  return published !== undefined && retained.eTag !== undefined && isSameTag(published.eTag, retained.eTag)
}

function notPublishableError({ version }: RetainedManifest): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `version ${version} was committed, but the storage was changed by another program`,
  )
}

/** Undefined if the requested path is no longer in the data folder, which may have been moved. */
function findStaging(storage: Storage, location: string, retained: RetainedManifest): string | undefined {
  try {
    return resolveStagingFiles(storage, location, retained).stagingPath
  } catch {
    return undefined
  }
}

/** The staging manifest is no longer the one that was verified. */
export function manifestChangedError(): CatalogError {
  return invalidInput('manifest_path: the staging manifest changed during the commit')
}
