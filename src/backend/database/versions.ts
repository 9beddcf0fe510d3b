import { parseProperties, type Properties } from './objects.ts'
import type { CatalogDatabase, VersionState, VersionTable } from './schema.ts'

/** A version of a branch of a table; `main` is the main branch. */
export type VersionKey = Pick<VersionTable, 'objectId' | 'branch' | 'version'>

export type VersionRecord = Omit<VersionTable, 'metadata' | 'state' | 'createdAt'>

export async function findVersion(database: CatalogDatabase, { objectId, branch, version }: VersionKey) {
  const found = await database
    .selectFrom('table_versions')
    .selectAll()
    .where((where) => where.and({ objectId, branch, version }))
    .executeTakeFirst()
  return found && { ...found, metadata: found.metadata ? parseProperties(found.metadata) : undefined }
}

const pendingStates: readonly VersionState[] = ['recorded', 'deleted']

/**
 * Lists the versions of a table that may not have their final names yet, or are still to be deleted. Queried before every
 * use of its data.
 */
export async function listPendingVersions(database: CatalogDatabase, objectId: string) {
  return await database
    .selectFrom('table_versions')
    .selectAll()
    .where('state', 'in', pendingStates)
    .where('objectId', '=', objectId)
    .execute()
}

/** Returns object ids. */
export async function listTablesWithPendingVersions(database: CatalogDatabase): Promise<readonly string[]> {
  const rows = await database
    .selectFrom('table_versions')
    .select('objectId')
    .where('state', 'in', pendingStates)
    .distinct()
    .execute()
  return rows.map(({ objectId }) => objectId)
}

/** Returns the metadata of the versions of a branch in a range, for those that have any. */
export async function findVersionMetadata(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
  [first, last]: readonly [first: number, last: number],
): Promise<ReadonlyMap<number, Properties>> {
  const rows = await database
    .selectFrom('table_versions')
    .select(['version', 'metadata'])
    .where((where) => where.and({ objectId, branch }))
    .where((where) => where.between('version', first, last))
    .where('metadata', 'is not', null)
    .execute()
  return new Map(rows.map(({ version, metadata }) => [version, parseProperties(metadata ?? '{}')]))
}

const versionKey = ['objectId', 'branch', 'version'] as const

/** Replaces a record of that version: that of a manifest which no longer exists. */
export async function recordVersion(
  database: CatalogDatabase,
  record: VersionRecord & { readonly metadata: Properties | undefined },
): Promise<void> {
  const values = {
    ...record,
    metadata: record.metadata ? JSON.stringify(record.metadata) : null,
    state: 'recorded',
    createdAt: Date.now(),
  } as const
  await database
    .insertInto('table_versions')
    .values(values)
    .onConflict((conflict) => conflict.columns(versionKey).doUpdateSet(values))
    .execute()
}

/** Records that versions are deleted, whose manifests may still exist. */
export async function recordDeletedVersions(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
  versions: readonly number[],
): Promise<void> {
  const noManifest = { stagingPath: '', manifestSize: 0, namingScheme: 'V2', keptName: '' } as const
  for (const version of versions) {
    await database
      .insertInto('table_versions')
      .values({ objectId, branch, version, ...noManifest, state: 'deleted', createdAt: Date.now() })
      .onConflict((conflict) =>
        conflict.columns(versionKey).doUpdateSet({ state: 'deleted', stagingPath: '', metadata: null }),
      )
      .execute()
  }
}

/** Records that a version has its final name. */
export async function finishVersion(
  database: CatalogDatabase,
  { objectId, branch, version }: VersionKey,
): Promise<void> {
  await database
    .updateTable('table_versions')
    .set({ state: 'final' })
    .where((where) => where.and({ objectId, branch, version }))
    .execute()
}

/** Deletes the records of a range of versions; with `keepsMetadata` only of final ones without metadata. */
export async function deleteVersionRecords(
  database: CatalogDatabase,
  { objectId, branch }: Omit<VersionKey, 'version'>,
  [first, last]: readonly [first: number, last: number],
  keepsMetadata = false,
): Promise<void> {
  let query = database
    .deleteFrom('table_versions')
    .where((where) => where.and({ objectId, branch }))
    .where((where) => where.between('version', first, last))
  if (keepsMetadata) query = query.where('state', '=', 'final').where('metadata', 'is', null)
  await query.execute()
}
