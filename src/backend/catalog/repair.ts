import { CatalogError } from 'catalog-gateway/catalog-api'
import { deleteLeftoverRecord, findTableById, listLeftovers, type TableFolder } from '../database/objects.ts'
import { listTablesWithPendingVersions } from '../database/versions.ts'
import { type CatalogContext, tableLocation } from './context.ts'
import {
  deleteUnusedRetainedManifests,
  listTablesWithRetainedManifests,
  reconcileIfPending,
} from './reconcile.ts'

const repairIntervalMs = 15_000

/**
 * Removes the data of tables that were dropped or half created; completes commits. Skips objects that are locked. Requests do not
 * need it: each repairs what it meets.
 */
async function repair(context: CatalogContext, stopped: AbortSignal): Promise<void> {
  const { database } = context
  await deleteLeftovers(context, await listLeftovers(database), 'runIfFree', stopped)
  for (const objectId of await listTablesWithPendingVersions(database)) {
    const table = await findTableById(database, objectId)
    if (table) await tryRepair(context, objectId, () => reconcileIfPending(context, table))
  }
  for (const objectId of await listTablesWithRetainedManifests(context)) {
    await tryRepair(context, objectId, () =>
      context.commitLock.runIfFree(objectId, () => deleteUnusedRetainedManifests(context, objectId)),
    )
  }
}

/** Repairs at once and then at intervals, also after other replicas. Returns a function that stops this. */
export function startRepairLoop(context: CatalogContext): () => Promise<void> {
  let currentRun = Promise.resolve()
  const stop = new AbortController()
  const run = (): void => {
    currentRun = currentRun
      .then(() => repair(context, stop.signal))
      .catch((error: unknown) => {
        context.log.warn({ err: error }, 'repair failed; retrying')
      })
  }
  const timer = setInterval(run, repairIntervalMs * (0.8 + Math.random() * 0.4)).unref()
  run()
  return async () => {
    clearInterval(timer)
    stop.abort()
    await currentRun
  }
}

/** A failure of one table must not stop the repair of the others. */
async function tryRepair(
  context: CatalogContext,
  objectId: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    context.log.error({ err: error, table: objectId }, 'table not repaired yet')
  }
}

/**
 * Deletes the data of removed tables under their locks; `runIfFree` skips those that are locked, and a table whose job runs
 * is always skipped. Data that cannot be deleted now stays recorded as a leftover; the next repair deletes it.
 */
export async function deleteLeftovers(
  context: CatalogContext,
  removed: readonly TableFolder[],
  lockMethod: 'runExclusive' | 'runIfFree',
  stopped?: AbortSignal,
): Promise<void> {
  for (const [index, table] of removed.entries()) {
    if (stopped?.aborted) return
    try {
      await context.locationLock[lockMethod](table.location, () =>
        context.jobLock.runIfFree(table.objectId, () =>
          context.dataLock[lockMethod](table.objectId, () => deleteLeftover(context, table)),
        ),
      )
    } catch (error) {
      const isUnavailable = error instanceof CatalogError && error.kind === 'ServiceUnavailable'
      const tables = isUnavailable ? removed.length - index : 1
      context.log.warn({ err: error, table: table.objectId, tables }, 'data of dropped table not deleted yet')
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
