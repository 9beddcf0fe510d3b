import { invalidInput } from 'catalog-gateway/catalog-api'
import { isNotFoundError } from '../../storage/local-storage.ts'
import { isSameTag, type FileContent, type Storage } from '../../storage/storage.ts'
import type { NamingScheme, StagedManifest, StagingRequest } from './manifest-records.ts'
import {
  parseStagingName,
  formatManifestName,
  omitMainBranch,
  versionsFolder,
  readStoredVersion,
} from './manifest-files.ts'
import { parseManifest } from './manifest.ts'

/** Larger manifests are rejected unread. */
export const maxManifestBytes = 512 * 1024 * 1024
const schemes: readonly NamingScheme[] = ['V2', 'V1']

/**
 * Verifies a staging manifest. Throws InvalidInput unless it is in the `_versions` folder of the branch under the final
 * name followed by `-` and a UUID, is a regular file without a symbolic link on the path, and has the size, version and
 * branch of the request. A published one is found by its entity tag, so a request may be repeated. The path of the request
 * is never opened: it must equal a possible path of the version, which is built here.
 */
export async function inspectStaging(
  storage: Storage,
  location: string,
  request: StagingRequest,
): Promise<StagedManifest> {
  const branch = omitMainBranch(request.branch)
  const { folder, namingScheme, finalPath, stagingPath } = resolveStagingFiles(storage, location, request)
  await storage.assertNoLinks(location, folder).catch((error: unknown) => {
    throw isNotFoundError(error) ? missingManifestError() : error
  })
  const { bytes, eTag } =
    (await storage.read(stagingPath, maxManifestBytes)) ??
    (await readPublished(storage, finalPath, request.eTag))
  if (request.manifestSize !== undefined && request.manifestSize !== bytes.length) {
    throw invalidInput(
      `manifest_size is ${request.manifestSize}, the staging manifest has ${bytes.length} bytes`,
    )
  }
  const manifest = parseManifest(bytes)
  if (manifest.version !== request.version || manifest.branch !== branch) {
    throw invalidInput(
      `the staging manifest is for ${formatVersion(manifest)}, the request for ${formatVersion({ ...request, branch })}`,
    )
  }
  const { readVersion, transactionKind, writer } = manifest
  const found = { readVersion, transactionKind, writer, manifestSize: bytes.length, eTag }
  return { location, version: request.version, branch, namingScheme, stagingPath, finalPath, ...found }
}

/** Resolves the staging and the final path of a request. Throws InvalidInput for any other path. */
export function resolveStagingFiles(storage: Storage, location: string, request: StagingRequest) {
  const folder = versionsFolder(location, request.branch)
  const { stagingName, namingScheme } = resolveStagingName(storage, folder, request)
  const finalPath = `${folder}/${formatManifestName(request.version, namingScheme)}`
  return { folder, namingScheme, finalPath, stagingPath: `${folder}/${stagingName}` }
}

/** Returns the name of the staging file if its path is `<versions folder>/<final name>-<uuid>`. */
function resolveStagingName(
  storage: Storage,
  folder: string,
  request: StagingRequest,
): { stagingName: string; namingScheme: NamingScheme } {
  const key = storage.parseKey(request.manifestPath)
  const prefix = `${storage.toKey(folder)}/`
  const stagingName = key.startsWith(prefix) ? key.slice(prefix.length) : ''
  const final = parseStagingName(stagingName)
  const namingScheme = schemes.find(
    (scheme) =>
      formatManifestName(request.version, scheme) === final && scheme === (request.namingScheme ?? scheme),
  )
  if (namingScheme !== undefined) return { stagingName, namingScheme }
  const expected = `_versions/${formatManifestName(request.version, request.namingScheme ?? 'V2')}-<uuid>`
  throw invalidInput(`manifest_path: expected ${expected} beneath the location of the table or of its branch`)
}

/** Returns the manifest under its final name if its entity tag is that of the request. */
async function readPublished(
  storage: Storage,
  finalPath: string,
  eTag: string | undefined,
): Promise<FileContent> {
  const published = eTag === undefined ? undefined : await readStoredVersion(storage, finalPath)
  const isSame = published !== undefined && eTag !== undefined && isSameTag(published.eTag, eTag)
  const found = isSame ? await storage.read(finalPath, maxManifestBytes) : undefined
  if (found === undefined) throw missingManifestError()
  return found
}

function missingManifestError() {
  return invalidInput('manifest_path: there is no such staging manifest')
}

function formatVersion(version: { readonly version: number; readonly branch?: string | undefined }): string {
  return version.branch === undefined
    ? `version ${version.version}`
    : `version ${version.version} of branch ${version.branch}`
}
