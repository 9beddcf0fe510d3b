import { findObject, findTableState, fromPath, type TableEntry } from '../../store/objects.ts'
import {
  deleteLeftoverRecord,
  listLeftovers,
  listUnfinishedCreations,
  removeTable,
} from '../../store/remove-objects.ts'
import { listTablesWithPendingChanges } from '../../store/pending-deletions.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import {
  deleteUnusedRetainedManifests,
  listTablesWithRetainedManifests,
} from '../consistency/retained-manifests.ts'
import { reconcileIfPending } from '../consistency/reconcile-versions.ts'

const repairIntervalMs = 15_000

/**
 * Cleans up after crashes: half-created tables, data of dropped tables, recorded versions without a manifest. Locked
 * objects are skipped: a running replica works on them.
 */
export async function repair(catalog: CatalogContext): Promise<void> {
  const { database } = catalog
  for (const { path, objectId } of await listUnfinishedCreations(database)) {
    await catalog.nameLock.runIfFree(path, () => discardCreation(catalog, objectId))
  }
  for (const { objectId, location } of await listLeftovers(database)) {
    await catalog.dataLock.runIfFree(objectId, async () => {
      await catalog.engine.drop(tableLocation(catalog, { location }))
      await deleteLeftoverRecord(database, location)
    })
  }
  for (const path of await listTablesWithPendingChanges(database)) {
    const table = await findObject(database, fromPath(path))
    if (table?.kind === 'table') await reconcileOrLog(catalog, table)
  }
  for (const objectId of await listTablesWithRetainedManifests(catalog)) {
    await catalog.commitLock.runIfFree(objectId, () => deleteUnusedRetainedManifests(catalog, objectId))
  }
}

/**
 * Repairs periodically, as replicas do for each other. Returns a function that stops the loop after the current run.
 */
export function startRepairLoop(catalog: CatalogContext): () => Promise<void> {
  let round = Promise.resolve()
  const sweep = (): void => {
    round = round
      .then(() => repair(catalog))
      .catch((error: unknown) => {
        catalog.log.warn({ err: error }, 'cleanup after other replicas failed; retrying')
      })
  }
  const timer = setInterval(sweep, repairIntervalMs * (0.8 + Math.random() * 0.4)).unref()
  return async () => {
    clearInterval(timer)
    await round
  }
}

async function discardCreation({ database }: CatalogContext, objectId: string): Promise<void> {
  await database.transaction().execute(async (database) => {
    if ((await findTableState(database, objectId)) === 'creating') await removeTable(database, objectId)
  })
}

/** A failure of one table must not stop the repair of the others. */
async function reconcileOrLog(catalog: CatalogContext, table: TableEntry): Promise<void> {
  try {
    await reconcileIfPending(catalog, table)
  } catch (error) {
    catalog.log.error({ err: error, table: table.objectId }, 'commit cannot be finalized yet')
  }
}
