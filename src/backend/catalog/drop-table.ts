import type { Identifier } from '../../interface/identifiers.ts'
import type { ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import { removeTable } from '../store/removal.ts'
import { tableLocation, type CatalogContext } from './catalog-parts.ts'
import { deleteRemovedData } from './delete-data.ts'
import { requireTable } from './lookup.ts'

/** Forgets a table, then deletes its data with all versions. Throws TableNotFound (404). */
export async function dropTable(catalog: CatalogContext, id: Identifier): Promise<ResponseOf<'DropTable'>> {
  const { table, removed } = await catalog.database.transaction().execute(async (database) => {
    const table = await requireTable(database, id)
    return { table, removed: await removeTable(database, table.objectId) }
  })
  await deleteRemovedData(catalog, removed)
  return { id, location: tableLocation(catalog, table), properties: { ...table.properties } }
}
