import { deleteLeftoverRecord, type RemovedTable } from '../../store/remove-objects.ts'
import { tableLocation, type CatalogContext } from './catalog-context.ts'

/**
 * Deletes the data of tables that the store has removed already. What cannot be deleted now stays a leftover, and
 * is deleted by the next repair; the tables are gone for every client in any case.
 */
export async function deleteRemovedData(
  catalog: CatalogContext,
  removed: readonly RemovedTable[],
): Promise<void> {
  for (const table of removed) {
    await catalog.dataLock.runExclusive(table.objectId, async () => {
      try {
        await catalog.engine.drop(tableLocation(catalog, table))
        await deleteLeftoverRecord(catalog.database, table.location)
      } catch (error) {
        catalog.log.warn({ err: error, table: table.objectId }, 'data of dropped table not deleted yet')
      }
    })
  }
}
