import path from 'node:path'
import { CatalogError, isBranchName } from 'catalog-gateway/catalog-api'
import type { Storage } from '../../storage/storage.ts'
import { maxManifestBytes } from './inspect-staging.ts'
import type { ListedVersion, StoredTransaction, StoredVersion } from './manifest-records.ts'
import { parseManifest, parseTransaction, type ManifestTransaction } from './manifest.ts'
import { formatManifestName, omitMainBranch, versionsFolder } from './manifest-files.ts'

const versionPattern = /^[1-9]\d{0,15}$/
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const transactionFilePattern = /^\d+-([0-9a-f-]{36})\.txn$/

/** Manifests that may be read for one transaction. */
const maxSearchedVersions = 200

export interface Versions {
  /** Lists versions, newest first; none before the first commit. */
  readonly list: (location: string, branch: string | undefined) => Promise<readonly ListedVersion[]>
  /** Returns one version, by default the newest; undefined if it does not exist. */
  readonly describe: (
    location: string,
    version: number | undefined,
    branch: string | undefined,
  ) => Promise<StoredVersion | undefined>
}

/**
 * Finds the commit with that number on main, or with that UUID on any branch; undefined if there is none. Without a
 * transaction file of that UUID, only the newest 200 versions are searched. Failed and unfinished commits have no version
 * and are not found.
 */
export async function findTransaction(
  storage: Storage,
  versions: Versions,
  location: string,
  branches: readonly string[],
  transaction: string,
): Promise<StoredTransaction | undefined> {
  if (versionPattern.test(transaction)) {
    const stored = await versions.describe(location, Number(transaction), undefined)
    return stored && (await readCommit(storage, location, undefined, stored))
  }
  const id = transaction.toLowerCase()
  if (!uuidPattern.test(id)) return undefined
  let remaining = maxSearchedVersions
  // Clients may write files of branches that none can have.
  for (const branch of [undefined, ...branches.filter(isBranchName)]) {
    const readVersion = await findReadVersion(storage, location, branch, id)
    const listed = await versions.list(location, branch)
    // The commit follows the version that the committer had read; the name of its transaction file contains that number.
    const searched =
      readVersion === undefined
        ? listed.slice(0, remaining)
        : listed
            .filter(({ version }) => version > readVersion)
            .slice(-maxSearchedVersions)
            .toReversed()
    if (readVersion === undefined) remaining -= searched.length
    for (const version of searched) {
      const found = await readCommit(storage, location, branch, version)
      if (found?.uuid === id) return found
    }
  }
  return undefined
}

async function findReadVersion(
  storage: Storage,
  location: string,
  branch: string | undefined,
  id: string,
): Promise<number | undefined> {
  for await (const { name } of storage.list(transactionsFolder(location, branch))) {
    if (transactionFilePattern.exec(name)?.[1] === id) return Number.parseInt(name, 10)
  }
  return undefined
}

/** Returns undefined if the version does not record its transaction or is deleted concurrently. */
async function readCommit(
  storage: Storage,
  location: string,
  branch: string | undefined,
  { version, namingScheme }: Pick<ListedVersion, 'version' | 'namingScheme'>,
): Promise<StoredTransaction | undefined> {
  const name = formatManifestName(version, namingScheme)
  const read = await storage.read(`${versionsFolder(location, branch)}/${name}`)
  if (read === undefined) return undefined
  const manifest = parseManifest(read.bytes)
  const found = manifest.transactionId
    ? manifest
    : await readTransactionFile(storage, location, branch, manifest.transactionFile)
  const { transactionId, readVersion = version - 1, transactionKind, transactionTag } = found ?? {}
  if (transactionId === undefined) return undefined
  return {
    uuid: transactionId,
    version,
    branch: omitMainBranch(branch),
    readVersion,
    kind: transactionKind,
    tag: transactionTag,
  }
}

/** Clients write these files: one that cannot be read is the same as none. */
async function readTransactionFile(
  storage: Storage,
  location: string,
  branch: string | undefined,
  name: string | undefined,
): Promise<ManifestTransaction | undefined> {
  if (name === undefined || !transactionFilePattern.test(name)) return undefined
  try {
    const read = await storage.read(`${transactionsFolder(location, branch)}/${name}`, maxManifestBytes)
    return read && parseTransaction(read.bytes)
  } catch (error) {
    const isBroken = error instanceof RangeError || (error instanceof CatalogError && error.status < 500)
    if (!isBroken) throw error
    return undefined
  }
}

export function transactionsFolder(location: string, branch: string | undefined): string {
  return `${path.posix.dirname(versionsFolder(location, branch))}/_transactions`
}
