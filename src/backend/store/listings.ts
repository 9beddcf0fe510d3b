import type { CatalogDatabase } from './tables.ts'

/** Which part of a listing is wanted: what comes after a name, and no more than `limit` entries. */
export interface Slice {
  readonly after: string | undefined
  readonly limit: number | undefined
}

/** The names of the namespaces directly under a path, in the byte order of UTF-8. */
export async function listNamespaceNames(
  database: CatalogDatabase,
  parentPath: string,
  slice: Slice,
): Promise<string[]> {
  let query = database
    .selectFrom('objects')
    .select('name')
    .where('parent_path', '=', parentPath)
    .where('kind', '=', 'namespace')
    .orderBy('name')
  if (slice.after !== undefined) query = query.where('name', '>', slice.after)
  if (slice.limit !== undefined) query = query.limit(slice.limit)
  return (await query.execute()).map((row) => row.name)
}

/** The names of the tables directly under a path, in the byte order of UTF-8. */
export async function listTableNames(
  database: CatalogDatabase,
  parentPath: string,
  includeDeclared: boolean,
  slice: Slice,
): Promise<string[]> {
  let query = database
    .selectFrom('objects')
    .select('name')
    .where('parent_path', '=', parentPath)
    .where('state', 'in', includeDeclared ? ['ready', 'declared'] : ['ready'])
    .orderBy('name')
  if (slice.after !== undefined) query = query.where('name', '>', slice.after)
  if (slice.limit !== undefined) query = query.limit(slice.limit)
  return (await query.execute()).map((row) => row.name)
}

/** The paths of all tables of the catalog, in the byte order of UTF-8. */
export async function listTablePaths(
  database: CatalogDatabase,
  includeDeclared: boolean,
  slice: Slice,
): Promise<string[]> {
  let query = database
    .selectFrom('objects')
    .select('path')
    .where('state', 'in', includeDeclared ? ['ready', 'declared'] : ['ready'])
    .orderBy('path')
  if (slice.after !== undefined) query = query.where('path', '>', slice.after)
  if (slice.limit !== undefined) query = query.limit(slice.limit)
  return (await query.execute()).map((row) => row.path)
}
