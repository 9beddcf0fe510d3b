import path from 'node:path'
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { localFileStorage } from '../../storage/local-storage.ts'
import { isSameTag, type Storage } from '../../storage/storage.ts'
import { findTransaction, type Versions } from './find-transaction.ts'
import { inspectStaging, resolveStagingFiles } from './inspect-staging.ts'
import {
  formatManifestName,
  parseManifestName,
  versionsFolder,
  readStoredVersion,
  toStoredVersion,
} from './manifest-files.ts'
import type {
  ListedVersion,
  RetainedManifest,
  StagedManifest,
  StagingRequest,
  StoredVersion,
} from './manifest-records.ts'
import { parseManifest, type TableManifest } from './manifest.ts'

/** The versions of a table as manifests in storage: the external manifest store. */
export function openManifestStore(storage: Storage = localFileStorage) {
  const versions: Versions = {
    list: (location, branch) => listVersions(storage, location, branch),
    describe: (location, version, branch) => describeVersion(storage, location, version, branch),
  }
  return {
    ...versions,
    inspectStaging: (location: string, request: StagingRequest) => inspectStaging(storage, location, request),
    publish: (staged: StagedManifest) => publish(storage, staged),
    retain: (staged: StagedManifest, retainedPath: string) => retainManifest(storage, staged, retainedPath),
    publishRetained: (location: string, retained: RetainedManifest) =>
      publishRetainedManifest(storage, location, retained),
    /** Deletes the manifest of a version; a missing one is no error. */
    remove: (location: string, version: number, branch: string | undefined) =>
      removeVersion(storage, location, version, branch),
    /** Throws InvalidInput unless the dataset and its path from `root` exist and consist of folders and files only. */
    assertConfined: (root: string, location: string) => storage.assertConfined(root, location),
    findTransaction: (location: string, branches: readonly string[], transaction: string) =>
      findTransaction(storage, versions, location, branches, transaction),
  }
}

export type ManifestStore = ReturnType<typeof openManifestStore>

async function listVersions(
  storage: Storage,
  location: string,
  branch: string | undefined,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly ListedVersion[]> {
  const folder = versionsFolder(location, branch)
  const found: ListedVersion[] = []
  for await (const file of storage.list(folder)) {
    const name = parseManifestName(file.name)
    if (name !== undefined) found.push({ ...name, read: () => toStoredVersion(storage, folder, file) })
    // V2 names sort with the newest version first.
    if (name?.namingScheme === 'V2' && found.length >= limit) break
  }
  return found.toSorted((left, right) => right.version - left.version).slice(0, limit)
}

async function describeVersion(
  storage: Storage,
  location: string,
  version: number | undefined,
  branch: string | undefined,
): Promise<StoredVersion | undefined> {
  if (version === undefined) return (await listVersions(storage, location, branch, 1))[0]?.read()
  const folder = versionsFolder(location, branch)
  return (
    (await readStoredVersion(storage, `${folder}/${formatManifestName(version, 'V2')}`)) ??
    (await readStoredVersion(storage, `${folder}/${formatManifestName(version, 'V1')}`))
  )
}

async function removeVersion(
  storage: Storage,
  location: string,
  version: number,
  branch: string | undefined,
): Promise<void> {
  const folder = versionsFolder(location, branch)
  if ((await describeVersion(storage, location, version, branch)) === undefined) return
  await storage.assertNoLinks(location, folder)
  for (const scheme of ['V2', 'V1'] as const)
    await storage.remove(`${folder}/${formatManifestName(version, scheme)}`)
  await storage.flush(folder)
}

/**
 * Gives the staging manifest its final name. Succeeds if the same bytes have that name already; throws
 * ConcurrentModification for other bytes, and InvalidInput if the manifest has changed since it was verified. `link` is the
 * commit: it is atomic, exposes only complete files and never replaces a file.
 */
async function publish(storage: Storage, staged: StagedManifest): Promise<StoredVersion> {
  if (!(await isPublished(storage, staged))) {
    await rejectGaps(storage, staged)
    const outcome = await storage.link(staged.stagingPath, staged.finalPath, staged.eTag)
    if (outcome === 'changed') throw manifestChangedError()
    if (outcome === 'missing') throw versionConflictError(staged, 'its staging manifest no longer exists')
    if (outcome === 'taken' && !(await isPublished(storage, staged))) throw versionConflictError(staged)
  }
  const published = await readStoredVersion(storage, staged.finalPath)
  if (published === undefined) throw versionConflictError(staged, 'it was deleted concurrently')
  await finishPublishing(storage, staged.finalPath, staged.stagingPath)
  return published
}

/** Whether the version exists with the same bytes, as for a repeated request. Throws if it has other bytes. */
async function isPublished(storage: Storage, staged: StagedManifest): Promise<boolean> {
  const published = await readStoredVersion(storage, staged.finalPath)
  if (published === undefined) return false
  // The same file or, in an object store, the same bytes.
  if (isSameTag(published.eTag, staged.eTag)) return true
  if (published.manifestSize !== staged.manifestSize) throw versionConflictError(staged)
  const [publishedFile, stagedFile] = await Promise.all(
    [staged.finalPath, staged.stagingPath].map((file) => storage.read(file)),
  )
  if (!publishedFile || !stagedFile || !publishedFile.bytes.equals(stagedFile.bytes))
    throw versionConflictError(staged)
  return true
}

/** A version must follow the newest one; the first version of a branch follows its branch point. */
async function rejectGaps(storage: Storage, staged: StagedManifest): Promise<void> {
  const [newest] = await listVersions(storage, staged.location, staged.branch, 1)
  if (newest === undefined) {
    if (staged.branch === undefined && staged.version !== 1)
      throw versionConflictError(staged, 'the table has no version yet')
    return
  }
  if (newest.version + 1 !== staged.version)
    throw versionConflictError(staged, `the latest version is ${newest.version}`)
  if (newest.namingScheme !== staged.namingScheme) {
    throw invalidInput(`expected a manifest name of scheme ${newest.namingScheme}, like the previous ones`)
  }
}

function versionConflictError(
  staged: StagedManifest,
  reason = 'it exists with different content',
): CatalogError {
  return new CatalogError('ConcurrentModification', `version ${staged.version} cannot be created: ${reason}`)
}

/** Parses the manifest of a version of a branch. Throws TableVersionNotFound. */
export async function readVersionManifest(
  storage: Storage,
  location: string,
  version: number,
  branch?: string,
): Promise<TableManifest> {
  const folder = versionsFolder(location, branch)
  for (const scheme of ['V2', 'V1'] as const) {
    const found = await storage.read(`${folder}/${formatManifestName(version, scheme)}`)
    if (found !== undefined) return parseManifest(found.bytes)
  }
  throw new CatalogError('TableVersionNotFound', 'the table has no such version')
}

/**
 * Gives the staging manifest a durable second name, so that it can be published without the staging name: in local folders
 * a hard link, so the size does not matter. Returns the version as it will be published. Throws InvalidInput if the manifest
 * has changed.
 */
async function retainManifest(
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

/** Idempotent. Throws ConcurrentModification if other bytes have the name or the retained manifest is missing. */
async function publishRetainedManifest(
  storage: Storage,
  location: string,
  retained: RetainedManifest,
): Promise<void> {
  const folder = versionsFolder(location, retained.branch)
  const finalPath = `${folder}/${formatManifestName(retained.version, retained.namingScheme)}`
  await storage.makeFolder(folder)
  await storage.assertNoLinks(location, folder)
  const outcome = await storage.link(retained.retainedPath, finalPath)
  if (outcome !== 'linked' && !(await isRetainedPublished(storage, retained, finalPath)))
    throw notPublishableError(retained)
  await finishPublishing(storage, finalPath, findStaging(storage, location, retained))
}

/**
 * Makes a manifest survive a power failure under its final name, then removes the staging name. The version is committed
 * even if that fails.
 */
async function finishPublishing(
  storage: Storage,
  finalPath: string,
  stagingPath: string | undefined,
): Promise<void> {
  for (const name of [finalPath, path.posix.dirname(finalPath)]) await storage.flush(name)
  if (stagingPath !== undefined) await storage.remove(stagingPath).catch(() => undefined)
}

/** Whether the version exists: with the retained bytes or, if the retained file is missing, as the same file. */
async function isRetainedPublished(
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
function manifestChangedError(): CatalogError {
  return invalidInput('manifest_path: the staging manifest changed during the commit')
}
