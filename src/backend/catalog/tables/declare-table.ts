import type { Identifier, RequestOf, ResponseOf } from 'catalog-gateway/catalog-api'
import { insertTable } from '../../database/objects.ts'
import type { CatalogDatabase } from '../../database/database-schema.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { rejectLocation } from './create-table.ts'
import { requireNamespace, tableAlreadyExistsError } from '../context/require-objects.ts'

/** Throws TableAlreadyExists (409), and like `getClientOptions`; in the latter case the name stays reserved. */
export async function declareTable(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'DeclareTable'>,
): Promise<ResponseOf<'DeclareTable'>> {
  const declared = await context.database
    .transaction()
    .execute((database) => declareInTransaction(context, database, id, request))
  const wantsCredentials = request.vend_credentials !== false
  const storageOptions = await context.getClientOptions(declared.location, wantsCredentials)
  return { ...declared, ...(storageOptions && { storage_options: storageOptions }) }
}

/** Declares a table in a transaction, without storage options; see `declareTable`. */
export async function declareInTransaction(
  context: CatalogContext,
  database: CatalogDatabase,
  id: Identifier,
  request: RequestOf<'DeclareTable'>,
): Promise<ResponseOf<'DeclareTable'> & { readonly location: string }> {
  rejectLocation(request)
  const properties = request.properties ?? {}
  await requireNamespace(database, id.slice(0, -1))
  const table = await insertTable(database, id, 'declared', properties)
  if (table === undefined) throw tableAlreadyExistsError(id)
  return { location: tableLocation(context, table), properties, managed_versioning: true }
}
