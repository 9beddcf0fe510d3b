import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import { removeTable } from '../../store/remove-objects.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { deleteRemovedData } from '../context/delete-data.ts'
import { requireTable } from '../context/lookup.ts'

/** Removes a table, then deletes its data with all versions. Throws TableNotFound (404). */
export async function dropTable(catalog: CatalogContext, id: Identifier): Promise<ResponseOf<'DropTable'>> {
  const { table, removed } = await catalog.database.transaction().execute(async (database) => {
    const table = await requireTable(database, id)
    return { table, removed: await removeTable(database, table.objectId) }
  })
  await deleteRemovedData(catalog, removed)
  return { id, location: tableLocation(catalog, table), properties: { ...table.properties } }
}
