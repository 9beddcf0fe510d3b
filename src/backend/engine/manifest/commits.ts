import path from 'node:path'
import { CatalogError, invalidInput } from 'catalog-gateway/catalog-api'
import { isNotFoundError } from '../../storage/local-storage.ts'
import { isSameTag, type Storage } from '../../storage/storage.ts'
import {
  formatManifestName,
  schemes,
  versionsFolder,
  type NamingScheme,
  type StoredVersion,
} from './manifest-files.ts'
import { omitMainBranch, parseManifest } from './manifest.ts'
import type { RequestOf } from '../../schemas/operation-schemas.ts'
import type { VersionPoint } from '../native/open-table.ts'

type Request = RequestOf<'CreateTableVersion'>

/** A request to commit the manifest that a client has staged. */
export type StagingRequest = Pick<Request, 'version' | 'manifest_path'> & Partial<Request>

/** A staging manifest verified against its request. */
export type StagedManifest = Awaited<ReturnType<typeof inspectStaging>>

export interface RetainedManifest extends Pick<StagedManifest, 'version' | 'namingScheme'> {
  /** Absent, empty or `main`: the main branch. */
  readonly branch?: string
  /** The object-store key of the staging manifest, as the client spelled it. */
  readonly stagingPath: string
  /** That of the verified staging manifest. */
  readonly eTag: string | null
  /** Absolute. */
  readonly retainedPath: string
}

/** `<final name>-<uuid>`. */
const stagingFileName = /^(.+\.manifest)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** Larger manifests are rejected unread. */
const maxManifestBytes = 512 * 1024 * 1024

/**
 * Verifies a staging manifest. Throws InvalidInput unless it is in the `_versions` folder of the branch under the final
 * name followed by `-` and a UUID, is a regular file without a symbolic link on the path, and has the size, version and
 * branch of the request. The path of the request is never opened: it must equal a possible path of the version, which is
 * built here.
 */
export async function inspectStaging(storage: Storage, location: string, request: StagingRequest) {
  const { version, manifest_path: manifestPath, manifest_size: size, naming_scheme: scheme } = request
  const branch = omitMainBranch(request.branch)
  const files = resolveStagingFiles(storage, { location, version, branch }, manifestPath, scheme)
  await storage.assertNoLinks(location, path.posix.dirname(files.finalPath)).catch((error: unknown) => {
    throw isNotFoundError(error) ? missingManifestError() : error
  })
  const found = await storage.read(files.stagingPath, maxManifestBytes)
  if (found === undefined) throw missingManifestError()
  const { bytes, eTag } = found
  if (size !== undefined && size !== bytes.length)
    throw invalidInput(`manifest_size is ${size}, the staging manifest has ${bytes.length} bytes`)
  const manifest = parseManifest(bytes)
  if (manifest.version !== version || manifest.branch !== branch) {
    throw invalidInput(
      `the staging manifest is for ${formatVersion(manifest)}, the request for ${formatVersion({ version, branch })}`,
    )
  }
  return { location, version, branch, ...files, manifestSize: bytes.length, eTag }
}

/** Resolves the absolute staging and final path of a version. Throws InvalidInput if a client spelled any other path. */
function resolveStagingFiles(
  storage: Storage,
  { location, branch, version }: VersionPoint,
  spelled: string,
  scheme: NamingScheme | undefined,
) {
  const folder = versionsFolder(location, branch)
  const key = storage.parseKey(spelled)
  const prefix = `${storage.toKey(folder)}/`
  const stagingName = key.startsWith(prefix) ? key.slice(prefix.length) : ''
  const final = stagingFileName.exec(stagingName)?.[1]
  const possible = scheme === undefined ? schemes : [scheme]
  const namingScheme = possible.find((name) => formatManifestName(version, name) === final)
  if (namingScheme !== undefined)
    return { namingScheme, stagingPath: `${folder}/${stagingName}`, finalPath: `${folder}/${final}` }
  const expected = `_versions/${formatManifestName(version, scheme ?? 'V2')}-<uuid>`
  throw invalidInput(`manifest_path: expected ${expected} beneath the location of the table or of its branch`)
}

function missingManifestError() {
  return invalidInput('manifest_path: there is no such staging manifest')
}

function formatVersion({ version, branch = 'main' }: Omit<VersionPoint, 'location'>): string {
  return `version ${version} of branch ${branch}`
}

/**
 * Gives the staging manifest a durable second name, so that it can be published without the staging name: in local folders
 * a hard link, so the size does not matter. Returns the version as it will be published. Throws InvalidInput if the manifest
 * has changed.
 */
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
  if (info === undefined) throw invalidInput('manifest_path: the staging manifest changed during the commit')
  // The file must survive a power failure.
  for (const name of [retainedPath, folder, path.posix.dirname(folder)]) await storage.flush(name)
  const { version, manifestSize, eTag, namingScheme } = staged
  const manifestPath = storage.toKey(staged.finalPath)
  return { version, manifestPath, manifestSize, eTag, timestampMillis: info.modifiedMillis, namingScheme }
}

/**
 * Gives a retained manifest its final name, durably, and removes the staging name. `link` is atomic, exposes only complete
 * files and never replaces one. Idempotent. Throws ConcurrentModification if other bytes have the name or the retained
 * manifest is missing.
 */
export async function publishRetainedManifest(
  storage: Storage,
  location: string,
  retained: RetainedManifest,
): Promise<void> {
  const { version, branch, namingScheme, stagingPath, retainedPath, eTag } = retained
  const folder = versionsFolder(location, branch)
  const finalPath = `${folder}/${formatManifestName(version, namingScheme)}`
  await storage.makeFolder(folder)
  await storage.assertNoLinks(location, folder)
  if ((await storage.link(retainedPath, finalPath)) !== 'linked') {
    const found = await storage.read(finalPath)
    // The same file or, in an object store, the same bytes.
    const isSame =
      found !== undefined &&
      ((eTag !== null && isSameTag(found.eTag, eTag)) ||
        (await storage.read(retainedPath))?.bytes.equals(found.bytes) === true)
    const message = `version ${version} cannot be created: it exists with different content`
    if (!isSame) throw new CatalogError('ConcurrentModification', message)
  }
  for (const name of [finalPath, folder]) await storage.flush(name)
  try {
    // It has another path if the data folder has been moved.
    const files = resolveStagingFiles(storage, { location, version, branch }, stagingPath, namingScheme)
    await storage.remove(files.stagingPath)
  } catch {
    // The version is committed.
  }
}
