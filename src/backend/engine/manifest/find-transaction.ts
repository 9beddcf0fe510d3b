import { isBranchName } from 'catalog-gateway/catalog-api'
import type { Storage } from '../../storage/storage.ts'
import { formatManifestName, listVersions, versionsFolder, type ListedVersion } from './manifest-files.ts'
import { omitMainBranch, parseManifest } from './manifest.ts'

export interface StoredTransaction {
  readonly uuid: string
  readonly version: number
  /** Absent: the main branch. */
  readonly branch: string | undefined
  readonly readVersion: number
  /** `Append`, `Delete`; undefined if the manifest does not contain it. */
  readonly kind: string | undefined
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

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
): Promise<StoredTransaction | undefined> {
  const id = transaction.toLowerCase()
  if (!uuidPattern.test(id)) {
    const version = (await listVersions(storage, location, undefined)).find(
      (one) => String(one.version) === id,
    )
    return version && (await readCommit(storage, location, undefined, version))
  }
  let remaining = maxSearchedVersions
  // Clients may write files of branches that none can have.
  for (const branch of [undefined, ...branches.filter(isBranchName)]) {
    const searched = (await listVersions(storage, location, branch)).slice(0, remaining)
    remaining -= searched.length
    for (const version of searched) {
      const found = await readCommit(storage, location, branch, version)
      if (found?.uuid === id) return found
    }
  }
  return undefined
}

/** Returns undefined if the version does not record its transaction or is deleted concurrently. */
async function readCommit(
  storage: Storage,
  location: string,
  branch: string | undefined,
  { version, namingScheme }: ListedVersion,
): Promise<StoredTransaction | undefined> {
  const name = formatManifestName(version, namingScheme)
  const read = await storage.read(`${versionsFolder(location, branch)}/${name}`)
  const {
    transactionId: uuid,
    readVersion = version - 1,
    transactionKind: kind,
  } = read ? parseManifest(read.bytes) : {}
  return uuid === undefined ? undefined : { uuid, version, branch: omitMainBranch(branch), readVersion, kind }
}
