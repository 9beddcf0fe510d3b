import { CatalogError } from 'catalog-gateway/catalog-api'
import { findTableById, updateObject, type TableEntry } from '../database/objects.ts'
import {
  deleteVersionRecords,
  finishVersion,
  listPendingVersions,
  type VersionKey,
  type VersionRecord,
} from '../database/versions.ts'
import { publishRetainedManifest } from '../engine/manifest/commits.ts'
import { removeManifest } from '../engine/manifest/manifest-files.ts'
import { mainBranch, tableLocation, type CatalogContext } from './context.ts'

/** Recorded commits per branch that can be replayed. A client that lost a response retries soon. */
const replayableVersions = 100

/**
 * Makes the storage of a table agree with its records: commits get their final names, and deleted versions lose theirs. The
 * caller holds the commit lock.
 */
export async function reconcileVersions(context: CatalogContext, objectId: string): Promise<void> {
  const pending = await listPendingVersions(context.database, objectId)
  const table = pending.length > 0 ? await findTableById(context.database, objectId) : undefined
  if (table === undefined) return
  // Newest first: a concurrent reader then sees the newest version, which contains the older ones.
  for (const record of pending.toSorted((one, other) => other.version - one.version)) {
    if (record.state === 'deleted') {
      const { version, branch } = record
      await removeManifest(context.storage, { location: tableLocation(context, table), version, branch })
      await deleteRecord(context, record)
    } else if (!(await publishVersion(context, table, record)))
      context.log.error({ table: objectId, version: record.version }, 'committed version lost')
  }
  await deleteUnusedRetainedManifests(context, objectId)
}

/** Reconciles a table whose commit lock the caller does not hold. */
export async function reconcileIfPending(context: CatalogContext, objectId: string): Promise<void> {
  if ((await listPendingVersions(context.database, objectId)).length === 0) return
  await context.commitLock.runExclusive(objectId, async () => {})
}

/**
 * Gives a recorded version its final name, and records that, and therefore that the table has data. If another writer has
 * taken the name, deletes the record and returns false: a file with a final name is never overwritten. The caller holds
 * the commit lock.
 */
export async function publishVersion(
  context: CatalogContext,
  table: TableEntry,
  record: VersionRecord,
): Promise<boolean> {
  const { objectId, branch, version, keptName } = record
  try {
    const retainedPath = `${retainedManifestsFolder(context, objectId)}/${keptName}`
    const retained = { ...record, retainedPath }
    await publishRetainedManifest(context.storage, tableLocation(context, table), retained)
  } catch (error) {
    if (!(error instanceof CatalogError && error.kind === 'ConcurrentModification')) throw error
    await deleteRecord(context, record)
    return false
  }
  await recordCommitted(context, table, 'final name of a version', () =>
    context.transact(async (database) => {
      await finishVersion(database, record)
      const last = version - replayableVersions - 1
      // The records before these were deleted with earlier versions.
      await deleteVersionRecords(database, record, [last - replayableVersions, last], true)
      if (table.state === 'declared' && branch === mainBranch)
        await updateObject(database, objectId, { state: 'ready' })
    }),
  )
  return true
}

async function deleteRecord({ database }: CatalogContext, record: VersionKey): Promise<void> {
  await deleteVersionRecords(database, record, [record.version, record.version])
}

/**
 * The retained manifests of committed versions of a table; without a table, those of all tables in folders by object id.
 * Only a holder of the commit lock creates, uses or deletes them.
 */
export function retainedManifestsFolder({ root }: CatalogContext, objectId?: string): string {
  return objectId === undefined ? `${root}/commits` : `${root}/commits/${objectId}`
}

export async function deleteUnusedRetainedManifests(
  context: CatalogContext,
  objectId: string,
): Promise<void> {
  if ((await listPendingVersions(context.database, objectId)).length > 0) return
  await context.storage.removeAll(retainedManifestsFolder(context, objectId))
}

/**
 * Records what is committed in storage. If that fails, it logs `what` and returns undefined: an error would make the
 * client change the rows again, and a reader finds them without the record.
 */
export async function recordCommitted<Result>(
  context: CatalogContext,
  table: TableEntry,
  what: string,
  record: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await record()
  } catch (error) {
    context.log.error({ err: error, table: table.objectId }, `${what}: committed, but not recorded`)
    return undefined
  }
}
