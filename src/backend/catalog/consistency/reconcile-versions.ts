import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import { setTableState, type TableEntry } from '../../store/objects.ts'
import {
  finishVersion,
  deleteVersionRecord,
  deleteVersionRecordsBefore,
  listRecordedVersions,
  type VersionRecord,
} from '../../store/versions.ts'
import {
  removeDeletedVersionRecord,
  hasPendingChanges,
  listDeletedVersions,
} from '../../store/pending-deletions.ts'
import { mainBranch } from '../context/branches.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { deleteUnusedRetainedManifests, retainedManifestPath } from './retained-manifests.ts'

/** Recorded commits per branch that can be replayed. A client that lost a response retries soon. */
const replayableVersions = 100

/**
 * Makes the storage of a table agree with its records. A version whose single commit was interrupted gets its final
 * name, or its record is deleted if its manifest does not exist. Batch commits are completed; commit-batch.ts explains
 * why that cannot fail. The caller holds the commit lock.
 */
export async function reconcileVersions(catalog: CatalogContext, table: TableEntry): Promise<void> {
  const recorded = await listRecordedVersions(catalog.database, table.objectId)
  // Newest first: a concurrent reader then sees the newest version, which contains the older ones.
  for (const record of recorded.toSorted((one, other) => other.version - one.version)) {
    await reconcileVersion(catalog, table, record)
  }
  await removeDeletedVersions(catalog, table)
  if (recorded.some(({ retainedName }) => retainedName !== undefined))
    await deleteUnusedRetainedManifests(catalog, table.objectId)
}

/** Reconciles a table with pending changes before its data is read or changed. */
export async function reconcileIfPending(catalog: CatalogContext, table: TableEntry): Promise<void> {
  if (!(await hasPendingChanges(catalog.database, table.objectId))) return
  await catalog.commitLock.runExclusive(table.objectId, () => reconcileVersions(catalog, table))
}

/** Records that a version has its final name, and therefore that the table has data. */
export async function finishVersionRecord(
  catalog: CatalogContext,
  table: TableEntry,
  branch: string,
  version: number,
): Promise<void> {
  await catalog.database.transaction().execute(async (database) => {
    await finishVersion(database, table.objectId, branch, version)
    await deleteVersionRecordsBefore(database, table.objectId, branch, version - replayableVersions)
    if (table.state === 'declared' && branch === mainBranch)
      await setTableState(database, table.objectId, 'ready')
  })
}

/** Whether storage refused permanently; other errors may be transient. */
export function isPermanentRefusal(error: unknown): boolean {
  return error instanceof CatalogError && error.status < 500
}

async function reconcileVersion(
  catalog: CatalogContext,
  table: TableEntry,
  record: VersionRecord,
): Promise<void> {
  const isThere = await (record.retainedName === undefined
    ? isPublished(catalog, table, record)
    : publishRetainedVersion(catalog, table, { ...record, retainedName: record.retainedName }))
  if (isThere) await finishVersionRecord(catalog, table, record.branch, record.version)
  else await deleteVersionRecord(catalog.database, table.objectId, record.branch, record.version)
}

/** Returns false only if storage was changed around the catalog; that file is never overwritten. */
async function publishRetainedVersion(
  catalog: CatalogContext,
  table: TableEntry,
  record: VersionRecord & { retainedName: string },
): Promise<boolean> {
  try {
    const retained = { ...record, retainedPath: retainedManifestPath(catalog, table, record.retainedName) }
    await catalog.manifestStore.publishRetained(tableLocation(catalog, table), retained)
    return true
  } catch (error) {
    if (!(error instanceof CatalogError && error.kind === 'ConcurrentModification')) throw error
    catalog.log.error({ err: error, table: table.objectId }, 'committed version lost')
    return false
  }
}

async function removeDeletedVersions(catalog: CatalogContext, table: TableEntry): Promise<void> {
  for (const doomed of await listDeletedVersions(catalog.database, table.objectId)) {
    await catalog.manifestStore.remove(tableLocation(catalog, table), doomed.version, doomed.branch)
    await catalog.database.transaction().execute(async (database) => {
      await deleteVersionRecord(database, table.objectId, doomed.branch, doomed.version)
      await removeDeletedVersionRecord(database, table.objectId, doomed)
    })
  }
}

async function isPublished(
  catalog: CatalogContext,
  table: TableEntry,
  record: VersionRecord,
): Promise<boolean> {
  const location = tableLocation(catalog, table)
  try {
    await catalog.manifestStore.publish(await catalog.manifestStore.inspectStaging(location, record))
    return true
  } catch (error) {
    if (!isPermanentRefusal(error)) throw error
  }
  // Either the staging manifest is missing or another commit won: the file with the final name decides.
  const stored = await catalog.manifestStore.describe(location, record.version, record.branch)
  return stored !== undefined && stored.manifestSize === record.manifestSize && stored.eTag === record.eTag
}
