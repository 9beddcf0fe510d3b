import { deleteLeftoverRecord, type RemovedTable } from '../../database/remove-objects.ts'
import { tableLocation, type CatalogContext } from './catalog-context.ts'

/** Data that cannot be deleted now stays recorded as a leftover; the next repair deletes it. */
export async function deleteRemovedData(
  context: CatalogContext,
  removed: readonly RemovedTable[],
): Promise<void> {
  for (const table of removed) {
    await context.dataLock.runExclusive(table.objectId, async () => {
      try {
        await context.engine.drop(tableLocation(context, table))
        await deleteLeftoverRecord(context.database, table.location)
      } catch (error) {
        context.log.warn({ err: error, table: table.objectId }, 'data of dropped table not deleted yet')
      }
    })
  }
}
