import { sql, type ExpressionBuilder, type ExpressionWrapper, type SqlBool } from 'kysely'
import type { CatalogDatabase, CatalogTables } from './schema.ts'

/** A removed table; `location` is its remaining data folder, relative to that of the catalog. */
export interface RemovedTable {
  readonly objectId: string
  readonly location: string
}

/** Whether a namespace has tables or namespaces. */
export async function hasChildren(database: CatalogDatabase, path: string): Promise<boolean> {
  const child = await database
    .selectFrom('objects')
    .select('name')
    .where('parent_path', '=', path)
    .limit(1)
    .executeTakeFirst()
  return child !== undefined
}

/**
 * Removes a namespace with all that it contains. Records the folders of its tables as leftovers. Must run in a transaction.
 */
export async function removeNamespace(
  database: CatalogDatabase,
  path: string,
): Promise<readonly RemovedTable[]> {
  // The paths below `a` start with `a/`; `0` is the character after `/`.
  return await remove(database, (where) =>
    where.or([
      where('path', '=', path),
      where.and([where('path', '>', `${path}/`), where('path', '<', `${path}0`)]),
    ]),
  )
}

/** Records its folder as a leftover. Must run in a transaction. Returns an empty list if the table does not exist. */
export async function removeTable(
  database: CatalogDatabase,
  objectId: string,
): Promise<readonly RemovedTable[]> {
  return await remove(database, (where) => where('object_id', '=', objectId))
}

/** Removes a table and leaves its data folder without an owner; it is not a leftover. */
export async function releaseTable(database: CatalogDatabase, objectId: string): Promise<void> {
  await database.deleteFrom('objects').where('object_id', '=', objectId).execute()
}

/** Whether the data at that location belongs to a table or is still to be deleted. */
export async function isLocationTaken(database: CatalogDatabase, location: string): Promise<boolean> {
  const found = await database
    .selectFrom('objects')
    .select('location')
    .where('location', '=', location)
    .unionAll(database.selectFrom('leftovers').select('location').where('location', '=', location))
    .executeTakeFirst()
  return found !== undefined
}

/** Lists the tables whose creation is in progress or was interrupted. */
export async function listUnfinishedCreations(
  database: CatalogDatabase,
): Promise<readonly { objectId: string; path: string }[]> {
  return await database
    .selectFrom('objects')
    .select(['object_id as objectId', 'path'])
    // The partial index is only used for the literal.
    .where('state', '=', sql.lit('creating'))
    .execute()
}

export async function listLeftovers(database: CatalogDatabase): Promise<readonly RemovedTable[]> {
  return await database.selectFrom('leftovers').select(['object_id as objectId', 'location']).execute()
}

/** Whether the data of a removed table is still to be deleted; no table can own its location until then. */
export async function isLeftover(
  database: CatalogDatabase,
  { objectId, location }: RemovedTable,
): Promise<boolean> {
  const found = await database
    .selectFrom('leftovers')
    .select('location')
    .where('location', '=', location)
    .where('object_id', '=', objectId)
    .executeTakeFirst()
  return found !== undefined
}

export async function deleteLeftoverRecord(
  database: CatalogDatabase,
  { objectId, location }: RemovedTable,
): Promise<void> {
  await database
    .deleteFrom('leftovers')
    .where('location', '=', location)
    .where('object_id', '=', objectId)
    .execute()
}

/** Uses a fixed number of statements for any number of objects, because the transaction blocks others. */
async function remove(
  database: CatalogDatabase,
  condition: (
    where: ExpressionBuilder<CatalogTables, 'objects'>,
  ) => ExpressionWrapper<CatalogTables, 'objects', SqlBool>,
): Promise<readonly RemovedTable[]> {
  const tables = database
    .selectFrom('objects')
    .where(condition)
    .where('location', 'is not', null)
    .select((select) => [select.ref('location').$notNull().as('location'), 'object_id'])
  await database.insertInto('leftovers').columns(['location', 'object_id']).expression(tables).execute()
  const rows = await database
    .deleteFrom('objects')
    .where(condition)
    .returning(['object_id', 'location'])
    .execute()
  return rows.flatMap(({ object_id: objectId, location }) =>
    location === null ? [] : [{ objectId, location }],
  )
}

/** A deleted version whose manifest may still exist. */
export interface DeletedVersion {
  readonly branch: string
  readonly version: number
}

export async function recordDeletedVersions(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
  versions: readonly number[],
): Promise<void> {
  for (const version of versions) {
    await database
      .insertInto('doomed_versions')
      .values({ object_id: objectId, branch, version })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

export async function listDeletedVersions(
  database: CatalogDatabase,
  objectId: string,
): Promise<readonly DeletedVersion[]> {
  return await database
    .selectFrom('doomed_versions')
    .select(['branch', 'version'])
    .where('object_id', '=', objectId)
    .execute()
}

/** Deletes the record of a deleted version after its manifest was removed. */
export async function removeDeletedVersionRecord(
  database: CatalogDatabase,
  objectId: string,
  { branch, version }: DeletedVersion,
): Promise<void> {
  await database
    .deleteFrom('doomed_versions')
    .where('object_id', '=', objectId)
    .where('branch', '=', branch)
    .where('version', '=', version)
    .execute()
}

/** Whether storage still lags behind the records of a table. Queried before every use of its data. */
export async function hasPendingChanges(database: CatalogDatabase, objectId: string): Promise<boolean> {
  const found = await selectPending(database)
    .select('object_id')
    .where('object_id', '=', objectId)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

export async function listTablesWithPendingChanges(database: CatalogDatabase): Promise<readonly string[]> {
  const rows = await selectPending(database)
    .innerJoin('objects', 'objects.object_id', 'unfinished.object_id')
    .select('objects.path')
    .distinct()
    .execute()
  return rows.map((row) => row.path)
}

function selectPending(database: CatalogDatabase) {
  return database.selectFrom(
    database
      .selectFrom('table_versions')
      .select('object_id')
      // The partial index is only used for the literal.
      .where('state', '=', sql.lit('recorded' as const))
      .unionAll(database.selectFrom('doomed_versions').select('object_id'))
      .as('unfinished'),
  )
}
