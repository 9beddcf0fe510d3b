import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { invalidInput } from '../../interface/errors.ts'
import type { NamingScheme, StagedManifest, StagingRequest } from './engine.ts'
import { finalName, nameManifest } from './manifest-names.ts'
import { readManifest } from './manifest.ts'
import { eTagOf, hasErrorCode, storedVersion } from './stored-version.ts'
import { normalizeBranch, refuseLinks, storageKey, versionsFolder } from './versions-folder.ts'

/** Larger manifests are refused before they are read. */
const largestManifest = 512 * 1024 * 1024
const schemes: readonly NamingScheme[] = ['V2', 'V1']

/**
 * Finds the staging manifest of a request and holds it to what the request says; see ManifestStore. The path
 * is never opened as it came: it must be one of those that the version can have, which are built here.
 */
export async function inspectStaging(location: string, request: StagingRequest): Promise<StagedManifest> {
  const branch = normalizeBranch(request.branch)
  const { folder, namingScheme, finalPath, stagingPath } = stagingFiles(location, request)
  await refuseLinks(location, folder).catch((error: unknown) => {
    throw hasErrorCode(error, 'ENOENT') ? missing() : error
  })
  const { bytes, eTag } =
    (await readRegularFile(stagingPath)) ?? (await readPublished(finalPath, request.eTag))
  if (request.manifestSize !== undefined && request.manifestSize !== bytes.length) {
    throw invalidInput(
      `manifest_size is ${request.manifestSize}, the staging manifest has ${bytes.length} bytes`,
    )
  }
  const manifest = readManifest(bytes)
  if (manifest.version !== request.version || manifest.branch !== branch) {
    throw invalidInput(
      `the staging manifest is of ${describe(manifest)}, the request is for ${describe({ ...request, branch })}`,
    )
  }
  const { readVersion, transactionKind, writer } = manifest
  const found = { readVersion, transactionKind, writer, manifestSize: bytes.length, eTag }
  return { location, version: request.version, branch, namingScheme, stagingPath, finalPath, ...found }
}

/** Where the staging manifest of a request lies, and where its version. Throws InvalidInput for any other path. */
export function stagingFiles(location: string, request: StagingRequest) {
  const folder = versionsFolder(location, request.branch)
  const { stagingName, namingScheme } = nameStaging(folder, request)
  const finalPath = path.join(folder, nameManifest(request.version, namingScheme))
  return { folder, namingScheme, finalPath, stagingPath: path.join(folder, stagingName) }
}

/** The name of the staging file, when its path is `<versions folder>/<final name>-<uuid>`. */
function nameStaging(
  folder: string,
  request: StagingRequest,
): { stagingName: string; namingScheme: NamingScheme } {
  const key = request.manifestPath.replace(/^(file:\/\/)?\/*/, '')
  const prefix = `${storageKey(folder)}/`
  const stagingName = key.startsWith(prefix) ? key.slice(prefix.length) : ''
  const final = finalName(stagingName)
  const namingScheme = schemes.find(
    (scheme) =>
      nameManifest(request.version, scheme) === final && scheme === (request.namingScheme ?? scheme),
  )
  if (namingScheme !== undefined) return { stagingName, namingScheme }
  const expected = `_versions/${nameManifest(request.version, request.namingScheme ?? 'V2')}-<uuid>`
  throw invalidInput(`manifest_path: expected ${expected} beneath the location of the table or of its branch`)
}

interface FoundFile {
  readonly bytes: Uint8Array
  readonly eTag: string
}

/** Opens without following a link, and looks at what was opened; undefined when there is nothing. */
async function readRegularFile(file: string): Promise<FoundFile | undefined> {
  let handle: FileHandle
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined
    if (hasErrorCode(error, 'ELOOP')) throw invalidInput('the staging manifest is a symbolic link')
    throw error
  }
  try {
    const found = await handle.stat({ bigint: true })
    if (!found.isFile()) throw invalidInput('the staging manifest is not a regular file')
    if (found.size > largestManifest) throw invalidInput(`a manifest has at most ${largestManifest} bytes`)
    return { bytes: await handle.readFile(), eTag: eTagOf(found) }
  } finally {
    await handle.close()
  }
}

/** The manifest under its final name, when it is the very file that the request tells the tag of. */
async function readPublished(finalPath: string, eTag: string | undefined): Promise<FoundFile> {
  const published = eTag === undefined ? undefined : await storedVersion(finalPath)
  const same = published?.eTag === eTag?.replaceAll('"', '')
  const found = published && same ? await readRegularFile(finalPath) : undefined
  if (found === undefined) throw missing()
  return found
}

function missing() {
  return invalidInput('manifest_path: there is no such staging manifest')
}

function describe(of: { readonly version: number; readonly branch?: string | undefined }): string {
  return of.branch === undefined ? `version ${of.version}` : `version ${of.version} of branch ${of.branch}`
}
