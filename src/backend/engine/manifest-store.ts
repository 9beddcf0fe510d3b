import { link, readFile, readdir, rm, unlink } from 'node:fs/promises'
import path from 'node:path'
import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import type { ManifestStore, StagedManifest, StoredVersion } from './engine.ts'
import { confine } from './confinement.ts'
import { flush, keepManifest, publishKept } from './kept-manifests.ts'
import { readManifest } from './manifest.ts'
import type { Manifest } from './manifest.ts'
import { nameManifest, parseManifestName } from './manifest-names.ts'
import { inspectStaging } from './staging.ts'
import { hasErrorCode, readIfThere, storedVersion } from './stored-version.ts'
import { findTransaction } from './transactions.ts'
import { refuseLinks, versionsFolder } from './versions-folder.ts'

/** The manifest store of tables in folders of this machine. */
export function openManifestStore(): ManifestStore {
  const versions = { list: listVersions, describe: describeVersion }
  return {
    ...versions,
    inspectStaging,
    publish,
    keep: keepManifest,
    publishKept,
    remove: removeVersion,
    confine,
    findTransaction: (location, branches, transaction) =>
      findTransaction(versions, location, branches, transaction),
  }
}

async function listVersions(
  location: string,
  branch: string | undefined,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly StoredVersion[]> {
  const folder = versionsFolder(location, branch)
  const found = (await namesIn(folder)).flatMap((name) => parseManifestName(name) ?? [])
  const newest = found.toSorted((left, right) => right.version - left.version).slice(0, limit)
  const versions = await Promise.all(
    newest.map(async ({ version, namingScheme }) =>
      storedVersion(path.join(folder, nameManifest(version, namingScheme))),
    ),
  )
  return versions.filter((version) => version !== undefined)
}

async function describeVersion(
  location: string,
  version: number | undefined,
  branch: string | undefined,
): Promise<StoredVersion | undefined> {
  if (version === undefined) return (await listVersions(location, branch, 1))[0]
  const folder = versionsFolder(location, branch)
  return (
    (await storedVersion(path.join(folder, nameManifest(version, 'V2')))) ??
    (await storedVersion(path.join(folder, nameManifest(version, 'V1'))))
  )
}

async function removeVersion(location: string, version: number, branch: string | undefined): Promise<void> {
  const folder = versionsFolder(location, branch)
  if ((await namesIn(folder)).length === 0) return
  await refuseLinks(location, folder)
  for (const scheme of ['V2', 'V1'] as const) {
    await rm(path.join(folder, nameManifest(version, scheme)), { force: true })
  }
  await flush(folder)
}

/** `link` is the commit: it is atomic, it shows only whole files and it never replaces a file. */
async function publish(staged: StagedManifest): Promise<StoredVersion> {
  if (!(await isPublished(staged))) {
    await refuseGaps(staged)
    try {
      await link(staged.stagingPath, staged.finalPath)
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) throw conflict(staged, 'its staging manifest is gone')
      if (!hasErrorCode(error, 'EEXIST')) throw error
      if (!(await isPublished(staged))) throw conflict(staged)
    }
  }
  const published = await storedVersion(staged.finalPath)
  if (published === undefined) throw conflict(staged, 'it was deleted at the same time')
  // The version is committed whatever becomes of its other name.
  await unlink(staged.stagingPath).catch(() => undefined)
  return published
}

/** True when the version is there with the same bytes: the same request once more. */
async function isPublished(staged: StagedManifest): Promise<boolean> {
  const published = await storedVersion(staged.finalPath)
  if (published === undefined) return false
  // A link is the same file: the same inode, time and size.
  if (published.eTag === staged.eTag) return true
  if (published.manifestSize !== staged.manifestSize) throw conflict(staged)
  const [there, here] = await Promise.all([staged.finalPath, staged.stagingPath].map(readIfThere))
  if (!there || !here || !there.equals(here)) throw conflict(staged)
  return true
}

/** A version follows the newest one; the first of a branch has the number after that which it branched from. */
async function refuseGaps(staged: StagedManifest): Promise<void> {
  const [newest] = await listVersions(staged.location, staged.branch, 1)
  if (newest === undefined) {
    if (staged.branch === undefined && staged.version !== 1) throw conflict(staged, 'there is no version yet')
    return
  }
  if (newest.version + 1 !== staged.version) throw conflict(staged, `the newest version is ${newest.version}`)
  if (newest.namingScheme !== staged.namingScheme) {
    throw invalidInput(
      `expected the manifest to be named by scheme ${newest.namingScheme}, as those before it`,
    )
  }
}

function conflict(staged: StagedManifest, reason = 'it exists with other content'): InterfaceError {
  return new InterfaceError(
    'ConcurrentModification',
    `version ${staged.version} cannot be created: ${reason}`,
  )
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return []
    throw error
  }
}

/** What the manifest of a version of a branch says. Throws TableVersionNotFound when it is not there. */
export async function readVersionManifest(
  location: string,
  version: number,
  branch?: string,
): Promise<Manifest> {
  const folder = versionsFolder(location, branch)
  const stored = await describeVersion(location, version, branch)
  if (stored === undefined) throw new InterfaceError('TableVersionNotFound', 'the table has no such version')
  return readManifest(await readFile(path.join(folder, nameManifest(version, stored.namingScheme))))
}
