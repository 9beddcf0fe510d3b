import type { CatalogDatabase } from './tables.ts'

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
  const rows = await database
    .deleteFrom('objects')
    // Below `a` lies what begins with `a/`; `0` is the character after `/`.
    .where((where) =>
      where.or([
        where('path', '=', path),
        where.and([where('path', '>', `${path}/`), where('path', '<', `${path}0`)]),
      ]),
    )
    .returning(['object_id', 'location'])
    .execute()
  return await addLeftovers(database, rows)
}

/** Removes a table and remembers its folder as a leftover. Must run in a transaction. None when it was gone. */
export async function removeTable(
  database: CatalogDatabase,
  objectId: string,
): Promise<readonly RemovedTable[]> {
  const rows = await database
    .deleteFrom('objects')
    .where('object_id', '=', objectId)
    .returning(['object_id', 'location'])
    .execute()
  return await addLeftovers(database, rows)
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
    .where('state', '=', 'creating')
    .execute()
}

/** The removed tables whose folders of data are still to be deleted. */
export async function listLeftovers(database: CatalogDatabase): Promise<readonly RemovedTable[]> {
  return await database.selectFrom('leftovers').select(['object_id as objectId', 'location']).execute()
}

/** Forgets a leftover after its folder was deleted. */
export async function forgetLeftover(database: CatalogDatabase, location: string): Promise<void> {
  await database.deleteFrom('leftovers').where('location', '=', location).execute()
}

async function addLeftovers(
  database: CatalogDatabase,
  rows: readonly { object_id: string; location: string | null }[],
): Promise<readonly RemovedTable[]> {
  const removed: RemovedTable[] = []
  for (const { object_id: objectId, location } of rows) {
    if (location === null) continue
    await database.insertInto('leftovers').values({ location, object_id: objectId }).execute()
    removed.push({ objectId, location })
  }
  return removed
}
