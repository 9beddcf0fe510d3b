import { getMembers } from 'catalog-gateway/lib'
import type { OpenedStorage } from '../../storage/storage.ts'
import { readCatalogIdentity, recordStorageMarked } from '../../database/catalog-identity.ts'
import type { CatalogDatabase } from '../../database/database-schema.ts'
import type { Lock } from '../locks/lock.ts'

/** Contains a JSON object with `catalog`: the id of the catalog that owns the storage. */
export const markFileName = 'catalog.json'
const maxMarkBytes = 1024

/** Claims unmarked storage once, then verifies its mark: two catalogs would delete each other's manifests. */
export async function claimStorage(
  database: CatalogDatabase,
  { storage, root }: Pick<OpenedStorage, 'storage' | 'root'>,
  lock: Lock,
): Promise<void> {
  await lock.runExclusive(markFileName, async () => {
    const { catalogId, isMarked } = await readCatalogIdentity(database)
    const file = `${root}/${markFileName}`
    if (!isMarked) await storage.create(file, Buffer.from(`${JSON.stringify({ catalog: catalogId })}\n`))
    const mark = await storage.read(file, maxMarkBytes)
    const owner = mark && parseOwner(mark.bytes.toString())
    if (owner !== catalogId) throw new Error(formatOwnershipError(root, catalogId, owner))
    if (!isMarked) await recordStorageMarked(database)
  })
}

function parseOwner(text: string): string | undefined {
  try {
    const { catalog } = getMembers(JSON.parse(text))
    return typeof catalog === 'string' ? catalog : undefined
  } catch {
    return undefined
  }
}

function formatOwnershipError(root: string, catalogId: string, owner: string | undefined): string {
  const expected = `expected its ${markFileName} to name ${catalogId}, the catalog of this store`
  return owner === undefined
    ? `the storage at ${root} has no owner mark of this catalog: ${expected}`
    : `the storage at ${root} belongs to the catalog ${owner}: ${expected}`
}
