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

/** Removes the tables whose creation was cut short. Must run in a transaction. */
export async function removeUnfinishedTables(database: CatalogDatabase): Promise<readonly RemovedTable[]> {
  const rows = await database
    .deleteFrom('objects')
    .where('state', '=', 'creating')
    .returning(['object_id', 'location'])
    .execute()
  return await addLeftovers(database, rows)
}

/** The folders of data that are still to be deleted. */
export async function listLeftovers(database: CatalogDatabase): Promise<readonly string[]> {
  const rows = await database.selectFrom('leftovers').select('location').execute()
  return rows.map((row) => row.location)
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
    await database.insertInto('leftovers').values({ location }).execute()
    removed.push({ objectId, location })
  }
  return removed
}
