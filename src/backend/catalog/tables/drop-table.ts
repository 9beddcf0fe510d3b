import type { Identifier, ResponseOf } from 'catalog-gateway/catalog-api'
import { removeTable } from '../../database/remove-objects.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { deleteLeftovers } from '../context/delete-leftovers.ts'
import { requireTable } from '../context/require-objects.ts'

/** Removes a table, then deletes its data with all versions. Throws TableNotFound (404). */
export async function dropTable(context: CatalogContext, id: Identifier): Promise<ResponseOf<'DropTable'>> {
  const { table, removed } = await context.database.transaction().execute(async (database) => {
    const table = await requireTable(database, id)
    return { table, removed: await removeTable(database, table.objectId) }
  })
  await deleteLeftovers(context, removed, 'runExclusive')
  return { id, location: tableLocation(context, table), properties: { ...table.properties } }
}
