import { sql, type SelectQueryBuilder } from 'kysely'
import type { CatalogDatabase, CatalogTables } from './database-schema.ts'

/** A part of a listing: the entries after a name, at most `limit`. */
export interface Slice {
  readonly after: string | undefined
  readonly limit: number | undefined
}

export async function listNamespaceNames(
  database: CatalogDatabase,
  parentPath: string,
  slice: Slice,
): Promise<string[]> {
  return await listNames(database.selectFrom('objects').where('kind', '=', 'namespace'), parentPath, slice)
}

export async function listTableNames(
  database: CatalogDatabase,
  parentPath: string,
  includeDeclared: boolean,
  slice: Slice,
): Promise<string[]> {
  return await listNames(selectTables(database, includeDeclared), parentPath, slice)
}

async function listNames(
  objects: SelectQueryBuilder<CatalogTables, 'objects', object>,
  parentPath: string,
  { after, limit }: Slice,
): Promise<string[]> {
  let query = objects.select('name').where('parent_path', '=', parentPath).orderBy('name')
  if (after !== undefined) query = query.where('name', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  return (await query.execute()).map((row) => row.name)
}

export async function listTablePaths(
  database: CatalogDatabase,
  includeDeclared: boolean,
  { after, limit }: Slice,
): Promise<string[]> {
  let query = selectTables(database, includeDeclared).select('path').orderBy('path')
  if (after !== undefined) query = query.where('path', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  return (await query.execute()).map((row) => row.path)
}

/** The partial indexes are only used for literals. */
function selectTables(database: CatalogDatabase, includeDeclared: boolean) {
  const objects = database.selectFrom('objects')
  if (!includeDeclared) return objects.where('state', '=', sql.lit('ready'))
  return objects.where('kind', '=', sql.lit('table')).where('state', 'in', ['ready', 'declared'])
}
