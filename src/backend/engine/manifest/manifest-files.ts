import path from 'node:path'
import { CatalogError, invalidInput, isBranchName } from 'catalog-gateway/catalog-api'
import type { FileInfo, Storage } from '../../storage/storage.ts'
import type { TablePoint, VersionPoint } from '../native/open-table.ts'
import { omitMainBranch, parseManifest } from './manifest.ts'

/** The file name of a manifest: V1 `{version}.manifest`, V2 `{2^64-1-version, 20 digits}.manifest`. */
export type NamingScheme = 'V1' | 'V2'

export type StoredVersion = NonNullable<ReturnType<typeof describe>>

/** A version whose manifest has that name; listing it opens no file. */
export interface ListedVersion {
  readonly version: number
  readonly namingScheme: NamingScheme
  /** Undefined if the manifest is no regular file, or was deleted meanwhile. */
  readonly read: () => Promise<StoredVersion | undefined>
}

/** The one that the engine writes comes first. */
export const schemes: readonly NamingScheme[] = ['V2', 'V1']
const largestVersion = 0xffffffffffffffffn
const manifestName = /^(\d{1,20})\.manifest$/

export function formatManifestName(version: number, scheme: NamingScheme): string {
  const number = scheme === 'V1' ? BigInt(version) : largestVersion - BigInt(version)
  return `${number.toString().padStart(scheme === 'V1' ? 1 : 20, '0')}.manifest`
}

export function parseManifestName(name: string): { version: number; namingScheme: NamingScheme } | undefined {
  const digits = manifestName.exec(name)?.[1]
  if (digits === undefined) return undefined
  const namingScheme = digits.length === 20 ? 'V2' : 'V1'
  const version = Number(namingScheme === 'V2' ? largestVersion - BigInt(digits) : digits)
  return Number.isSafeInteger(version) && version >= 0 ? { version, namingScheme } : undefined
}

/** Valid branch names are segments of letters, digits, `.`, `-` and `_`, joined by `/`. Throws InvalidInput. */
export function versionsFolder(location: string, branch: string | undefined): string {
  const name = omitMainBranch(branch)
  if (name === undefined) return `${location}/_versions`
  if (isBranchName(name)) return `${location}/tree/${name}/_versions`
  throw invalidInput(
    `branch ${JSON.stringify(name)}: expected letters, digits, ".", "-" and "_" joined by "/"`,
  )
}

/** Newest first; none before the first commit. */
export async function listManifests(
  storage: Storage,
  { location, branch }: TablePoint,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly ListedVersion[]> {
  const folder = versionsFolder(location, branch)
  const found: ListedVersion[] = []
  for await (const { name, stat } of storage.list(folder)) {
    const parsed = parseManifestName(name)
    if (parsed === undefined) continue
    found.push({ ...parsed, read: async () => describe(storage, `${folder}/${name}`, await stat()) })
    // V2 names sort with the newest version first.
    if (parsed.namingScheme === 'V2' && found.length >= limit) break
  }
  return found.toSorted((left, right) => right.version - left.version).slice(0, limit)
}

/** Describes one version, by default the newest; undefined if it does not exist. */
export async function findManifest(storage: Storage, point: TablePoint): Promise<StoredVersion | undefined> {
  const { version } = point
  if (version === undefined) return (await listManifests(storage, point, 1))[0]?.read()
  for (const file of listManifestFiles({ ...point, version })) {
    const found = describe(storage, file, await storage.stat(file))
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the possible files of a version. */
function listManifestFiles({ location, version, branch }: VersionPoint): string[] {
  const folder = versionsFolder(location, branch)
  return schemes.map((scheme) => `${folder}/${formatManifestName(version, scheme)}`)
}

function describe(storage: Storage, file: string, found: FileInfo | undefined) {
  const parsed = parseManifestName(path.posix.basename(file))
  if (parsed === undefined || found === undefined) return undefined
  const { size, eTag, modifiedMillis } = found
  return {
    ...parsed,
    /** An object-store key that ends in `.manifest`; for a local file, the absolute path without the leading slash. */
    manifestPath: storage.toKey(file),
    manifestSize: size,
    eTag,
    /** When the manifest was written. */
    timestampMillis: modifiedMillis,
  }
}

/** Parses the manifest of a version. Throws TableVersionNotFound. */
export async function readManifest(storage: Storage, point: VersionPoint) {
  for (const file of listManifestFiles(point)) {
    const found = await storage.read(file)
    if (found !== undefined) return parseManifest(found.bytes)
  }
  throw new CatalogError('TableVersionNotFound', 'the table has no such version')
}

/** Deletes the manifest of a version; a missing one is no error. */
export async function removeManifest(storage: Storage, point: VersionPoint): Promise<void> {
  if ((await findManifest(storage, point)) === undefined) return
  const folder = versionsFolder(point.location, point.branch)
  await storage.assertNoLinks(point.location, folder)
  for (const file of listManifestFiles(point)) await storage.remove(file)
  await storage.flush(folder)
}

/** Manifests that may be read for one transaction. */
const maxSearchedVersions = 200

/**
 * Finds the commit with that number on main, or with that UUID among the newest 200 versions of main and the branches;
 * undefined if there is none. Failed and unfinished commits have no version and are not found.
 */
export async function findTransaction(
  storage: Storage,
  location: string,
  branches: readonly string[],
  transaction: string,
) {
  const id = transaction.toLowerCase()
  if (/^\d+$/.test(id)) {
    const listed = await listManifests(storage, { location })
    const found = listed.find(({ version }) => String(version) === id)
    return found && (await readTransaction(storage, location, undefined, found))
  }
  let remaining = maxSearchedVersions
  // Clients may write files of branches that none can have.
  for (const branch of [undefined, ...branches.filter(isBranchName)]) {
    const searched = (await listManifests(storage, { location, branch })).slice(0, remaining)
    remaining -= searched.length
    for (const version of searched) {
      const found = await readTransaction(storage, location, branch, version)
      if (found?.uuid === id) return found
    }
  }
  return undefined
}

/** Returns undefined if the version does not record its transaction or is deleted concurrently. */
async function readTransaction(
  storage: Storage,
  location: string,
  branch: string | undefined,
  { version, namingScheme }: ListedVersion,
) {
  const name = formatManifestName(version, namingScheme)
  const read = await storage.read(`${versionsFolder(location, branch)}/${name}`)
  const {
    transactionId: uuid,
    transactionKind: kind,
    readVersion = version - 1,
  } = read ? parseManifest(read.bytes) : {}
  return uuid === undefined ? undefined : { uuid, version, branch: omitMainBranch(branch), readVersion, kind }
}
