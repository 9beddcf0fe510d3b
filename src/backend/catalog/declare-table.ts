import type { Identifier } from '../../interface/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import { insertTable } from '../store/objects.ts'
import type { CatalogDatabase } from '../store/tables.ts'
import { locationOf, type CatalogParts } from './catalog-parts.ts'
import { refuseLocation } from './create-table.ts'
import { requireNamespace, tableAlreadyExists } from './lookup.ts'

/**
 * Reserves a name without data and answers where the data is to be written. Throws TableAlreadyExists (409) when
 * the name is taken.
 */
export async function declareTable(
  catalog: CatalogParts,
  id: Identifier,
  request: RequestOf<'DeclareTable'>,
): Promise<ResponseOf<'DeclareTable'>> {
  return await catalog.database
    .transaction()
    .execute((database) => insertDeclared(catalog, database, id, request))
}

/** Declares a table in a transaction; see `declareTable`. */
export async function insertDeclared(
  catalog: CatalogParts,
  database: CatalogDatabase,
  id: Identifier,
  request: RequestOf<'DeclareTable'>,
): Promise<ResponseOf<'DeclareTable'>> {
  refuseLocation(request.location)
  const properties = request.properties ?? {}
  await requireNamespace(database, id.slice(0, -1))
  const table = await insertTable(database, id, 'declared', properties)
  if (table === undefined) throw tableAlreadyExists(id)
  return { location: locationOf(catalog, table), properties, managed_versioning: true }
}
