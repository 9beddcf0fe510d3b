import type { Identifier, ResponseOf } from 'catalog-gateway/catalog-api'
import { releaseTable } from '../../database/remove-objects.ts'
import type { CatalogDatabase } from '../../database/database-schema.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { lockTables } from '../consistency/lock-tables.ts'
import { requireTable, requireSameTable } from '../context/require-objects.ts'

/** Removes a table and keeps its data, which RegisterTable can add again. Throws TableNotFound (404). */
export async function deregisterTable(
  context: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DeregisterTable'>> {
  const table = await requireTable(context.database, id)
  return await lockTables(context, [table], () =>
    context.database
      .transaction()
      .execute((database) => deregisterInTransaction(context, database, id, table.objectId)),
  )
}

/** Deregisters a table in a transaction; see `deregisterTable`. The caller holds its locks. */
export async function deregisterInTransaction(
  context: CatalogContext,
  database: CatalogDatabase,
  id: Identifier,
  objectId: string,
): Promise<ResponseOf<'DeregisterTable'>> {
  const table = await requireSameTable(database, id, objectId)
  await releaseTable(database, objectId)
  return { id, location: tableLocation(context, table), properties: { ...table.properties } }
}
