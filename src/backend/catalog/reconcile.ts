import { CatalogError } from 'catalog-gateway/catalog-api'
import { setTableState, type TableEntry } from '../database/objects.ts'
import { removeDeletedVersionRecord, hasPendingChanges, listDeletedVersions } from '../database/removals.ts'
import {
  finishVersion,
  deleteVersionRecord,
  deleteVersionRecordsBefore,
  listRecordedVersions,
  type VersionRecord,
} from '../database/versions.ts'
import { mainBranch, tableLocation, type CatalogContext } from './context.ts'

/** Recorded commits per branch that can be replayed. A client that lost a response retries soon. */
const replayableVersions = 100

/**
 * Makes the storage of a table agree with its records: an interrupted commit gets its final name, or its record is
 * deleted. Batch commits are completed (see commit-batch.ts). The caller holds the commit lock.
 */
export async function reconcileVersions(context: CatalogContext, table: TableEntry): Promise<void> {
  const recorded = await listRecordedVersions(context.database, table.objectId)
  // Newest first: a concurrent reader then sees the newest version, which contains the older ones.
  for (const record of recorded.toSorted((one, other) => other.version - one.version)) {
    await reconcileVersion(context, table, record)
  }
  await removeDeletedVersions(context, table)
  if (recorded.some(({ retainedName }) => retainedName !== undefined))
    await deleteUnusedRetainedManifests(context, table.objectId)
}

export async function reconcileIfPending(context: CatalogContext, table: TableEntry): Promise<void> {
  if (!(await hasPendingChanges(context.database, table.objectId))) return
  await context.commitLock.runExclusive(table.objectId, () => reconcileVersions(context, table))
}

/** Records that a version has its final name, and therefore that the table has data. */
export async function finishVersionRecord(
  context: CatalogContext,
  table: TableEntry,
  branch: string,
  version: number,
): Promise<void> {
  await context.database.transaction().execute(async (database) => {
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
  context: CatalogContext,
  table: TableEntry,
  record: VersionRecord,
): Promise<void> {
  const hasFinalName = await (record.retainedName === undefined
    ? publishStagedVersion(context, table, record)
    : publishRetainedVersion(context, table, { ...record, retainedName: record.retainedName }))
  if (hasFinalName) await finishVersionRecord(context, table, record.branch, record.version)
  else await deleteVersionRecord(context.database, table.objectId, record.branch, record.version)
}

/** Returns false only if storage was changed around the catalog; that file is never overwritten. */
async function publishRetainedVersion(
  context: CatalogContext,
  table: TableEntry,
  record: VersionRecord & { retainedName: string },
): Promise<boolean> {
  try {
    const retained = { ...record, retainedPath: retainedManifestPath(context, table, record.retainedName) }
    await context.manifestStore.publishRetained(tableLocation(context, table), retained)
    return true
  } catch (error) {
    if (!(error instanceof CatalogError && error.kind === 'ConcurrentModification')) throw error
    context.log.error({ err: error, table: table.objectId }, 'committed version lost')
    return false
  }
}

async function removeDeletedVersions(context: CatalogContext, table: TableEntry): Promise<void> {
  for (const deleted of await listDeletedVersions(context.database, table.objectId)) {
    await context.manifestStore.remove(tableLocation(context, table), deleted.version, deleted.branch)
    await context.database.transaction().execute(async (database) => {
      await deleteVersionRecord(database, table.objectId, deleted.branch, deleted.version)
      await removeDeletedVersionRecord(database, table.objectId, deleted)
    })
  }
}

async function publishStagedVersion(
  context: CatalogContext,
  table: TableEntry,
  record: VersionRecord,
): Promise<boolean> {
  const location = tableLocation(context, table)
  try {
    await context.manifestStore.publish(await context.manifestStore.inspectStaging(location, record))
    return true
  } catch (error) {
    if (!isPermanentRefusal(error)) throw error
  }
  // Either the staging manifest is missing or another commit won: the file with the final name decides.
  const stored = await context.manifestStore.describe(location, record.version, record.branch)
  return stored !== undefined && stored.manifestSize === record.manifestSize && stored.eTag === record.eTag
}

/*
 * Retained manifests of committed batches, one folder per table: `commits/<object id>`. Only a holder of the commit
 * lock creates, uses or deletes them.
 */

export function retainedManifestPath(
  context: CatalogContext,
  table: Pick<TableEntry, 'objectId'>,
  name: string,
): string {
  return `${retainedManifestsFolder(context, table.objectId)}/${name}`
}

export async function deleteUnusedRetainedManifests(
  context: CatalogContext,
  objectId: string,
): Promise<void> {
  if (await hasPendingChanges(context.database, objectId)) return
  await context.storage.removeAll(retainedManifestsFolder(context, objectId))
}

/** Returns object ids. */
export async function listTablesWithRetainedManifests(context: CatalogContext): Promise<readonly string[]> {
  return await context.storage.listFolders(`${context.root}/commits`)
}

function retainedManifestsFolder(context: CatalogContext, objectId: string): string {
  return `${context.root}/commits/${objectId}`
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
