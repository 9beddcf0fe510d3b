import { sql } from 'kysely'
import type { CatalogDatabase } from './database-schema.ts'

/** A part of a listing: the entries after a name, at most `limit`. */
export interface Slice {
  readonly after: string | undefined
  readonly limit: number | undefined
}

export async function listNamespaceNames(
  database: CatalogDatabase,
  parentPath: string,
  { after, limit }: Slice,
): Promise<string[]> {
  let query = database
    .selectFrom('objects')
    .select('name')
    .where('parent_path', '=', parentPath)
    .where('kind', '=', 'namespace')
    .orderBy('name')
  if (after !== undefined) query = query.where('name', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  return (await query.execute()).map((row) => row.name)
}

export async function listTableNames(
  database: CatalogDatabase,
  parentPath: string,
  includeDeclared: boolean,
  { after, limit }: Slice,
): Promise<string[]> {
  let query = selectTables(database, includeDeclared)
    .select('name')
    .where('parent_path', '=', parentPath)
    .orderBy('name')
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
