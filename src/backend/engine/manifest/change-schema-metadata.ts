import { randomUUID } from 'node:crypto'
import { CatalogError } from 'catalog-gateway/catalog-api'
import type { Storage } from '../../storage/storage.ts'
import type { TablePoint } from '../table-point.ts'
import { editSchemaMetadata } from './edit-schema-metadata.ts'
import type { MetadataChanges, NextManifest } from './edit-schema-metadata.ts'
import { formatManifestName } from './manifest-names.ts'
import { openManifestStore } from './manifest-store.ts'
import { transactionsFolder } from './find-transaction.ts'
import { versionsFolder } from './versions-folder.ts'

const maxAttempts = 50

/**
 * The engine has no call for this, so the new version is written here, as the engine would write it. The first writer
 * to give a version its final name wins; the others, also those of the engine, retry from the winning version, so no
 * change is lost. Unnamed keys stay; a change without effect creates no version. Throws ConcurrentModification after
 * losing every attempt.
 */
export async function changeSchemaMetadata(
  storage: Storage,
  { location, branch }: TablePoint,
  changes: MetadataChanges,
): Promise<Readonly<Record<string, string>>> {
  const manifests = openManifestStore(storage)
  const folder = versionsFolder(location, branch)
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const newest = await manifests.describe(location, undefined, branch)
    if (newest === undefined) throw new CatalogError('TableNotFound', 'the table has no data')
    await storage.assertNoLinks(location, folder)
    const file = await storage.read(`${folder}/${formatManifestName(newest.version, newest.namingScheme)}`)
    // Deleted meanwhile, so another version is the newest now.
    if (file === undefined) continue
    const stamp = { uuid: randomUUID(), millis: Date.now() }
    const { metadata, next } = editSchemaMetadata(file.bytes, changes, stamp)
    if (next === undefined) return metadata
    const name = `${folder}/${formatManifestName(next.version, newest.namingScheme)}`
    if (await commit(storage, name, transactionsFolder(location, branch), next)) return metadata
  }
  throw new CatalogError('ConcurrentModification', 'too many concurrent changes; retry')
}

/** False if another writer created that version. After an unknown outcome the transaction file stays: it is ignored. */
async function commit(
  storage: Storage,
  file: string,
  transactions: string,
  next: NextManifest,
): Promise<boolean> {
  const transaction = next.transaction && `${transactions}/${next.transaction.name}`
  if (next.transaction && transaction !== undefined) {
    await storage.create(transaction, next.transaction.bytes)
  }
  const isCommitted = await storage.create(file, next.file)
  if (!isCommitted && transaction !== undefined) await storage.remove(transaction)
  return isCommitted
}
