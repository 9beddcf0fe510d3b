import { CatalogError } from 'catalog-gateway/catalog-api'
import { deleteLeftoverRecord, listLeftovers, type TableFolder } from '../database/objects.ts'
import { listTablesWithPendingVersions } from '../database/versions.ts'
import { type CatalogContext, tableLocation } from './context.ts'
import { deleteUnusedRetainedManifests, retainedManifestsFolder } from './reconcile.ts'

/**
 * Removes the data of tables that were dropped or half created; completes commits. Skips objects that are locked. Requests do not
 * need it: each repairs what it meets.
 */
export async function repair(context: CatalogContext, stopped: AbortSignal): Promise<void> {
  const { commitLock, database, log, storage } = context
  await deleteLeftovers(context, await listLeftovers(database), stopped)
  const pending = await listTablesWithPendingVersions(database)
  const retained = await storage.listFolders(retainedManifestsFolder(context))
  for (const objectId of new Set([...pending, ...retained])) {
    // Whoever takes the lock reconciles. A failure of one table must not stop the repair of the others.
    await commitLock
      .runIfFree(objectId, () => deleteUnusedRetainedManifests(context, objectId))
      .catch((error: unknown) => log.error({ err: error, table: objectId }, 'table not repaired yet'))
  }
}

/**
 * Deletes the data of removed tables that nobody has locked. The rest stays recorded as leftovers; the next repair deletes
 * it.
 */
export async function deleteLeftovers(
  context: CatalogContext,
  removed: readonly TableFolder[],
  stopped?: AbortSignal,
): Promise<void> {
  const { locationLock, jobLock, dataLock, log } = context
  for (const [index, table] of removed.entries()) {
    if (stopped?.aborted) return
    const { location, objectId } = table
    try {
      await locationLock.runIfFree(location, () =>
        jobLock.runIfFree(objectId, () => dataLock.runIfFree(objectId, () => deleteLeftover(context, table))),
      )
    } catch (error) {
      const isUnavailable = error instanceof CatalogError && error.kind === 'ServiceUnavailable'
      const tables = isUnavailable ? removed.length - index : 1
      log.warn({ err: error, table: objectId, tables }, 'data of dropped table not deleted yet')
      // Each of the others would wait for the same server.
      if (isUnavailable) return
    }
  }
}

/** Another process may have deleted the data since it was listed; a table that was registered later may own the location. */
async function deleteLeftover(context: CatalogContext, table: TableFolder): Promise<void> {
  if ((await listLeftovers(context.database, table.objectId)).length === 0) return
  await context.engine.drop(tableLocation(context, table))
  await deleteLeftoverRecord(context.database, table.objectId)
}
