import { CatalogError, formatIdentifierForMessage, type Identifier } from 'catalog-gateway/catalog-api'
import type { CatalogDatabase } from '../../database/database-schema.ts'
import { findView, type MaterializedView } from '../../database/materialized-views.ts'
import type { TableEntry } from '../../database/objects.ts'
import { requireTable } from '../context/require-objects.ts'

/** Throws TableNotFound (404), also for a table that is no view. */
export async function requireView(
  database: CatalogDatabase,
  id: Identifier,
): Promise<{ readonly table: TableEntry; readonly view: MaterializedView }> {
  const table = await requireTable(database, id)
  const view = await findView(database, table.objectId)
  if (view !== undefined) return { table, view }
  throw new CatalogError(
    'TableNotFound',
    `the table ${formatIdentifierForMessage(id)} is not a materialized view`,
  )
}
