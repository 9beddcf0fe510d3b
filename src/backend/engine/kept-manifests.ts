import path from 'node:path'
import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import { isSameTag, type Storage } from '../storage/storage.ts'
import type { KeptManifest, StagedManifest, StoredVersion } from './engine.ts'
import { nameManifest } from './manifest-names.ts'
import { stagingFiles } from './staging.ts'
import { storedVersion } from './stored-version.ts'
import { versionsFolder } from './versions-folder.ts'

/** See ManifestStore.keep: in folders a second name of the same file, so that it costs nothing however large it is. */
export async function keepManifest(
  storage: Storage,
  staged: StagedManifest,
  keptPath: string,
): Promise<StoredVersion> {
  const folder = path.posix.dirname(keptPath)
  await storage.makeFolder(folder)
  const outcome = await storage.link(staged.stagingPath, keptPath, staged.eTag)
  if (outcome === 'missing') throw invalidInput('manifest_path: the staging manifest no longer exists')
  if (outcome === 'taken') throw new Error('the name for a retained manifest is taken')
  const kept = outcome === 'linked' ? await storage.facts(keptPath) : undefined
  if (kept === undefined) throw changed()
  // The file must be found after a loss of power, too.
  for (const name of [keptPath, folder, path.posix.dirname(folder)]) await storage.flush(name)
  const { version, manifestSize, eTag, namingScheme } = staged
  const manifestPath = storage.keyOf(staged.finalPath)
  return { version, manifestPath, manifestSize, eTag, timestampMillis: kept.modifiedMillis, namingScheme }
}

/**
 * See ManifestStore.publishKept. The name follows from the version alone, and the other one is removed only if it
 * still is where the request said: the data folder may have been moved in between.
 */
export async function publishKept(storage: Storage, location: string, kept: KeptManifest): Promise<void> {
  const folder = versionsFolder(location, kept.branch)
  const finalPath = `${folder}/${nameManifest(kept.version, kept.namingScheme)}`
  await storage.makeFolder(folder)
  await storage.refuseLinks(location, folder)
  const outcome = await storage.link(kept.keptPath, finalPath)
  if (outcome !== 'linked' && !(await isPublished(storage, kept, finalPath))) throw notPublishable(kept)
  await storage.flush(folder)
  await removeStaging(storage, location, kept).catch(() => undefined)
}

/** True when the version is there: with the bytes that were kept, or as the very file where those are removed. */
async function isPublished(storage: Storage, kept: KeptManifest, finalPath: string): Promise<boolean> {
  const [there, here] = await Promise.all([finalPath, kept.keptPath].map((file) => storage.read(file)))
  if (there === undefined) return false
  if (here !== undefined) return there.bytes.equals(here.bytes)
  const published = await storedVersion(storage, finalPath)
  return published !== undefined && kept.eTag !== undefined && isSameTag(published.eTag, kept.eTag)
}

function notPublishable({ version }: KeptManifest): InterfaceError {
  return new InterfaceError(
    'ConcurrentModification',
    `version ${version} was committed, but the storage was changed by another program`,
  )
}

async function removeStaging(storage: Storage, location: string, kept: KeptManifest): Promise<void> {
  await storage.remove(stagingFiles(storage, location, kept).stagingPath)
}

function changed(): InterfaceError {
  return invalidInput('manifest_path: the staging manifest changed during the commit')
}
