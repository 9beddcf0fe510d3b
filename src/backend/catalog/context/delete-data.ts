import { deleteLeftoverRecord, type RemovedTable } from '../../store/remove-objects.ts'
import { tableLocation, type CatalogContext } from './catalog-context.ts'

/**
 * Deletes the data of tables that are no longer in the store. Data that cannot be deleted now stays recorded as a
 * leftover, and the next repair deletes it.
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
