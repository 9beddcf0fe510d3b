import { sql } from 'kysely'
import type { CatalogDatabase } from './database-schema.ts'

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
