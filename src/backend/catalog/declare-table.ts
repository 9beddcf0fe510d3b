import type { Identifier } from '../../interface/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import { insertTable } from '../store/objects.ts'
import type { CatalogDatabase } from '../store/tables.ts'
import { locationOf, type CatalogParts } from './catalog-parts.ts'
import { refuseLocation } from './create-table.ts'
import { requireNamespace, tableAlreadyExists } from './lookup.ts'

/**
 * Reserves a name without data and answers where the data is to be written. Throws TableAlreadyExists (409) when
 * the name is taken, and as `clientOptions` does: then it is reserved, and DescribeTable will answer the rest.
 */
export async function declareTable(
  catalog: CatalogParts,
  id: Identifier,
  request: RequestOf<'DeclareTable'>,
): Promise<ResponseOf<'DeclareTable'>> {
  const declared = await catalog.database
    .transaction()
    .execute((database) => insertDeclared(catalog, database, id, request))
  const wantsCredentials = request.vend_credentials !== false
  const storageOptions = await catalog.clientOptions(declared.location, wantsCredentials)
  return { ...declared, ...(storageOptions && { storage_options: storageOptions }) }
}

/** Declares a table in a transaction, and tells nothing of the storage; see `declareTable`. */
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
