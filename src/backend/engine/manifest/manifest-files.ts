import path from 'node:path'
import { invalidInput, isBranchName } from 'catalog-gateway/catalog-api'
import type { FileInfo, ListedFile, Storage } from '../../storage/storage.ts'
import type { NamingScheme, StoredVersion } from './manifest-records.ts'

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

/** Maps the main branch to undefined. */
export function omitMainBranch(branch: string | undefined): string | undefined {
  return branch === undefined || branch === '' || branch === 'main' ? undefined : branch
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

/** Reads the version of a manifest file; undefined if the file is missing or not a manifest. */
export async function readStoredVersion(storage: Storage, file: string): Promise<StoredVersion | undefined> {
  return await toStoredVersion(storage, path.posix.dirname(file), {
    name: path.posix.basename(file),
    stat: () => storage.stat(file),
  })
}

export async function toStoredVersion(
  storage: Storage,
  folder: string,
  { name, stat }: ListedFile,
): Promise<StoredVersion | undefined> {
  const parsed = parseManifestName(name)
  const found = parsed && (await stat())
  return parsed && found && { ...parsed, ...describe(storage, `${folder}/${name}`, found) }
}

function describe(storage: Storage, file: string, { size, eTag, modifiedMillis }: FileInfo) {
  return { manifestPath: storage.toKey(file), manifestSize: size, eTag, timestampMillis: modifiedMillis }
}
