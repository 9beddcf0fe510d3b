import path from 'node:path'
import { CatalogError, invalidInput, isBranchName } from 'catalog-gateway/catalog-api'
import type { FileInfo, Storage } from '../../storage/storage.ts'
import { omitMainBranch, parseManifest, type TableManifest } from './manifest.ts'

/** The file name of a manifest: V1 `{version}.manifest`, V2 `{2^64-1-version, 20 digits}.manifest`. */
export type NamingScheme = 'V1' | 'V2'

export interface StoredVersion {
  readonly version: number
  /** An object-store key that ends in `.manifest`; for a local file, the absolute path without the leading slash. */
  readonly manifestPath: string
  /** Bytes. */
  readonly manifestSize: number
  /** In the format of the engine's object-store client. */
  readonly eTag: string
  /** When the manifest was written, in milliseconds since 1970. */
  readonly timestampMillis: number
  readonly namingScheme: NamingScheme
}

/** A version whose manifest has that name; listing it opens no file. */
export interface ListedVersion {
  readonly version: number
  readonly namingScheme: NamingScheme
  /** Undefined if the manifest is no regular file, or was deleted meanwhile. */
  readonly read: () => Promise<StoredVersion | undefined>
}

const largestVersion = 0xffffffffffffffffn
const manifestName = /^(\d{1,20})\.manifest$/
const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const stagingName = new RegExp(`^(.+\\.manifest)-${uuid}$`, 'i')

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

/** Returns the final name of a staging file `<final name>-<uuid>`; undefined for other names. */
export function parseStagingName(staging: string): string | undefined {
  return stagingName.exec(staging)?.[1]
}

/** Valid branch names are segments of letters, digits, `.`, `-` and `_`, joined by `/`. Throws InvalidInput. */
export function versionsFolder(location: string, branch: string | undefined): string {
  const name = omitMainBranch(branch)
  return name === undefined
    ? `${location}/_versions`
    : [location, 'tree', ...parseBranchSegments(name), '_versions'].join('/')
}

function parseBranchSegments(branch: string): string[] {
  if (isBranchName(branch)) return branch.split('/')
  throw invalidInput(
    `branch ${JSON.stringify(branch)}: expected letters, digits, ".", "-" and "_" joined by "/"`,
  )
}

/** Newest first; none before the first commit. */
export async function listVersions(
  storage: Storage,
  location: string,
  branch: string | undefined,
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
export async function describeVersion(
  storage: Storage,
  location: string,
  version: number | undefined,
  branch: string | undefined,
): Promise<StoredVersion | undefined> {
  if (version === undefined) return (await listVersions(storage, location, branch, 1))[0]?.read()
  for (const file of listManifestFiles(location, version, branch)) {
    const found = await readStoredVersion(storage, file)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the possible files of a version. */
export function listManifestFiles(location: string, version: number, branch: string | undefined): string[] {
  const folder = versionsFolder(location, branch)
  return (['V2', 'V1'] as const).map((scheme) => `${folder}/${formatManifestName(version, scheme)}`)
}

/** Describes a manifest file; undefined if it is missing or not a manifest. */
async function readStoredVersion(storage: Storage, file: string): Promise<StoredVersion | undefined> {
  return describe(storage, file, await storage.stat(file))
}

function describe(storage: Storage, file: string, found: FileInfo | undefined): StoredVersion | undefined {
  const parsed = parseManifestName(path.posix.basename(file))
  if (parsed === undefined || found === undefined) return undefined
  const { size, eTag, modifiedMillis } = found
  return {
    ...parsed,
    manifestPath: storage.toKey(file),
    manifestSize: size,
    eTag,
    timestampMillis: modifiedMillis,
  }
}

/** Parses the manifest of a version of a branch. Throws TableVersionNotFound. */
export async function readVersionManifest(
  storage: Storage,
  location: string,
  version: number,
  branch?: string,
): Promise<TableManifest> {
  for (const file of listManifestFiles(location, version, branch)) {
    const found = await storage.read(file)
    if (found !== undefined) return parseManifest(found.bytes)
  }
  throw new CatalogError('TableVersionNotFound', 'the table has no such version')
}
