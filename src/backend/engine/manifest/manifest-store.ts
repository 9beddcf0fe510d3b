import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { localFileStorage } from '../../storage/local-storage.ts'
import { isSameTag, type Storage } from '../../storage/storage.ts'
import type { ListedVersion, ManifestStore, StagedManifest, StoredVersion } from './manifest-records.ts'
import {
  finishPublishing,
  manifestChangedError,
  publishRetainedManifest,
  retainManifest,
} from './retained-manifests.ts'
import { parseManifest } from './manifest.ts'
import type { TableManifest } from './manifest.ts'
import { formatManifestName, parseManifestName } from './manifest-names.ts'
import { inspectStaging } from './inspect-staging.ts'
import { readStoredVersion, toStoredVersion } from './stored-version.ts'
import { findTransaction } from './find-transaction.ts'
import { versionsFolder } from './versions-folder.ts'

export function openManifestStore(storage: Storage = localFileStorage): ManifestStore {
  const versions: Pick<ManifestStore, 'list' | 'describe'> = {
    list: (location, branch) => listVersions(storage, location, branch),
    describe: (location, version, branch) => describeVersion(storage, location, version, branch),
  }
  return {
    ...versions,
    inspectStaging: (location, request) => inspectStaging(storage, location, request),
    publish: (staged) => publish(storage, staged),
    retain: (staged, retainedPath) => retainManifest(storage, staged, retainedPath),
    publishRetained: (location, retained) => publishRetainedManifest(storage, location, retained),
    remove: (location, version, branch) => removeVersion(storage, location, version, branch),
    assertConfined: (root, location) => storage.assertConfined(root, location),
    findTransaction: (location, branches, transaction) =>
      findTransaction(storage, versions, location, branches, transaction),
  }
}

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

/** `link` is the commit: it is atomic, exposes only complete files and never replaces a file. */
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
