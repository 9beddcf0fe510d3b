import {
  assertIdentifier,
  type Identifier,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import { findObject, moveTable } from '../../database/objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireNamespace, requireTable, tableAlreadyExistsError } from '../context/require-objects.ts'

/** The data does not move. Throws TableAlreadyExists (409), or NamespaceNotFound (404) for the new namespace. */
export async function renameTable(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'RenameTable'>,
): Promise<ResponseOf<'RenameTable'>> {
  const destination = assertIdentifier([
    ...(request.new_namespace_id ?? id.slice(0, -1)),
    request.new_table_name,
  ])
  await context.database.transaction().execute(async (database) => {
    const table = await requireTable(database, id)
    await requireNamespace(database, destination.slice(0, -1))
    if ((await findObject(database, destination)) !== undefined) throw tableAlreadyExistsError(destination)
    await moveTable(database, table.objectId, destination)
  })
  return {}
}
