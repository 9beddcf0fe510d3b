import { CatalogError } from 'catalog-gateway/catalog-api'
import { deleteLeftoverRecord, isLeftover, type RemovedTable } from '../../database/remove-objects.ts'
import { tableLocation, type CatalogContext } from './catalog-context.ts'

/**
 * Deletes the data of removed tables under their locks; `runIfFree` skips those that are locked, and a table whose job runs
 * is always skipped. Data that cannot be deleted now stays recorded as a leftover; the next repair deletes it.
 */
export async function deleteLeftovers(
  context: CatalogContext,
  removed: readonly RemovedTable[],
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
async function deleteLeftover(context: CatalogContext, table: RemovedTable): Promise<void> {
  if (!(await isLeftover(context.database, table))) return
  await context.engine.drop(tableLocation(context, table))
  await deleteLeftoverRecord(context.database, table)
}
