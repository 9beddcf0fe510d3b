import { sql, type ExpressionBuilder, type ExpressionWrapper, type SqlBool } from 'kysely'
import type { CatalogDatabase, CatalogTables } from './database-schema.ts'

/** A table that is no more: what is left is its folder of data, relative to the data folder. */
export interface RemovedTable {
  readonly objectId: string
  readonly location: string
}

/** Whether a namespace or a table lies directly under that path. */
export async function hasChildren(database: CatalogDatabase, path: string): Promise<boolean> {
  const child = await database
    .selectFrom('objects')
    .select('object_id')
    .where('parent_path', '=', path)
    .limit(1)
    .executeTakeFirst()
  return child !== undefined
}

/**
 * Removes a namespace with everything below it, and remembers the folders of the tables as leftovers. Must run in
 * a transaction. Answers the tables that were removed.
 */
export async function removeNamespace(
  database: CatalogDatabase,
  path: string,
): Promise<readonly RemovedTable[]> {
  // Below `a` lies what begins with `a/`; `0` is the character after `/`.
  return await remove(database, (where) =>
    where.or([
      where('path', '=', path),
      where.and([where('path', '>', `${path}/`), where('path', '<', `${path}0`)]),
    ]),
  )
}

/** Removes a table and remembers its folder as a leftover. Must run in a transaction. None when it was gone. */
export async function removeTable(
  database: CatalogDatabase,
  objectId: string,
): Promise<readonly RemovedTable[]> {
  return await remove(database, (where) => where('object_id', '=', objectId))
}

/** Removes a table, whose folder of data is nobody's from then on, and no leftover. */
export async function releaseTable(database: CatalogDatabase, objectId: string): Promise<void> {
  await database.deleteFrom('objects').where('object_id', '=', objectId).execute()
}

/** Whether data lies there that belongs to a table, or that is still to be deleted. */
export async function isLocationTaken(database: CatalogDatabase, location: string): Promise<boolean> {
  const found = await database
    .selectFrom('objects')
    .select('location')
    .where('location', '=', location)
    .unionAll(database.selectFrom('leftovers').select('location').where('location', '=', location))
    .executeTakeFirst()
  return found !== undefined
}

/** The tables that are being created, or whose creation was cut short. */
export async function listUnfinishedCreations(
  database: CatalogDatabase,
): Promise<readonly { objectId: string; path: string }[]> {
  return await database
    .selectFrom('objects')
    .select(['object_id as objectId', 'path'])
    // The index holds these alone, and is only used for the literal.
    .where('state', '=', sql.lit('creating'))
    .execute()
}

/** The removed tables whose folders of data are still to be deleted. */
export async function listLeftovers(database: CatalogDatabase): Promise<readonly RemovedTable[]> {
  return await database.selectFrom('leftovers').select(['object_id as objectId', 'location']).execute()
}

/** Forgets a leftover after its folder was deleted. */
export async function deleteLeftoverRecord(database: CatalogDatabase, location: string): Promise<void> {
  await database.deleteFrom('leftovers').where('location', '=', location).execute()
}

/** However many objects it is, they are a fixed number of statements: the transaction keeps others waiting. */
async function remove(
  database: CatalogDatabase,
  which: (
    where: ExpressionBuilder<CatalogTables, 'objects'>,
  ) => ExpressionWrapper<CatalogTables, 'objects', SqlBool>,
): Promise<readonly RemovedTable[]> {
  const tables = database
    .selectFrom('objects')
    .where(which)
    .where('location', 'is not', null)
    .select((select) => [select.ref('location').$notNull().as('location'), 'object_id'])
  await database.insertInto('leftovers').columns(['location', 'object_id']).expression(tables).execute()
  const rows = await database
    .deleteFrom('objects')
    .where(which)
    .returning(['object_id', 'location'])
    .execute()
  return rows.flatMap(({ object_id: objectId, location }) =>
    location === null ? [] : [{ objectId, location }],
  )
}
