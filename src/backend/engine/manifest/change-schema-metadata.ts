import { randomUUID } from 'node:crypto'
import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import type { Storage } from '../../storage/storage.ts'
import type { TablePoint } from '../table-point.ts'
import { editSchemaMetadata } from './edit-schema-metadata.ts'
import type { MetadataChanges, NextManifest } from './edit-schema-metadata.ts'
import { formatManifestName } from './manifest-names.ts'
import { openManifestStore } from './manifest-store.ts'
import { transactionsFolder } from './find-transaction.ts'
import { versionsFolder } from './versions-folder.ts'

const attempts = 50

/**
 * Changes the metadata of the schema of the newest version of a branch: the engine has no call for this, so the
 * version is written here, as the engine would. Whoever gives a version its final name first has made it, and a
 * name is never given twice; the loser begins anew from the version that won, so that neither change is lost. The
 * engine's own writers read the transaction and do the same. Keys that are not named stay; a change of nothing
 * makes no version. Throws ConcurrentModification when others were faster every time.
 */
export async function changeSchemaMetadata(
  storage: Storage,
  { location, branch }: TablePoint,
  changes: MetadataChanges,
): Promise<Readonly<Record<string, string>>> {
  const manifests = openManifestStore(storage)
  const folder = versionsFolder(location, branch)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const newest = await manifests.describe(location, undefined, branch)
    if (newest === undefined) throw new CatalogError('TableNotFound', 'the table has no data')
    await storage.assertNoLinks(location, folder)
    const file = await storage.read(`${folder}/${formatManifestName(newest.version, newest.namingScheme)}`)
    // Deleted in between: another version is the newest one by now.
    if (file === undefined) continue
    const stamp = { uuid: randomUUID(), millis: Date.now() }
    const { metadata, next } = editSchemaMetadata(file.bytes, changes, stamp)
    if (next === undefined) return metadata
    const name = `${folder}/${formatManifestName(next.version, newest.namingScheme)}`
    if (await commit(storage, name, transactionsFolder(location, branch), next)) return metadata
  }
  throw new CatalogError('ConcurrentModification', 'too many concurrent changes; retry')
}

/**
 * False when another writer has made that version. Where nobody can tell what became of it, the transaction stays:
 * a version without it is of no use to other writers.
 */
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
