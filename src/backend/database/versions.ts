import { parseProperties, type Properties } from './objects.ts'
import type { CatalogDatabase, VersionState } from './schema.ts'

/** A version of a branch of a table. */
export interface VersionKey {
  readonly objectId: string
  /** `main` for the main branch. */
  readonly branch: string
  readonly version: number
}

/** The record of a version that a client commits, or of any version that is to be deleted. */
export type VersionRecord = Omit<Awaited<ReturnType<typeof listPendingVersions>>[number], 'metadata'>

export async function findVersion(database: CatalogDatabase, { objectId, branch, version }: VersionKey) {
  const found = await selectVersions(database)
    .where((where) => where.and({ object_id: objectId, branch, version }))
    .executeTakeFirst()
  return found && { ...found, metadata: found.metadata ? parseProperties(found.metadata) : undefined }
}

const pendingStates: readonly VersionState[] = ['recorded', 'deleted']

/**
 * Lists the versions of a table that may not have their final names yet, or are still to be deleted. Queried before every
 * use of its data.
 */
export async function listPendingVersions(database: CatalogDatabase, objectId: string) {
  return await selectVersions(database)
    .where('state', 'in', pendingStates)
    .where('object_id', '=', objectId)
    .execute()
}

/** Returns object ids. */
export async function listTablesWithPendingVersions(database: CatalogDatabase): Promise<readonly string[]> {
  const rows = await database
    .selectFrom('table_versions')
    .select('object_id')
    .where('state', 'in', pendingStates)
    .distinct()
    .execute()
  return rows.map((row) => row.object_id)
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
    .where((where) => where.and({ object_id: objectId, branch }))
    .where((where) => where.between('version', first, last))
    .where('metadata', 'is not', null)
    .execute()
  return new Map(rows.map(({ version, metadata }) => [version, parseProperties(metadata ?? '{}')]))
}

const versionKey = ['object_id', 'branch', 'version'] as const

/** Replaces a record of that version: that of a manifest which no longer exists. */
export async function recordVersion(
  database: CatalogDatabase,
  record: Omit<VersionRecord, 'state'> & { readonly metadata: Properties | undefined },
): Promise<void> {
  const values = {
    object_id: record.objectId,
    branch: record.branch,
    version: record.version,
    staging_path: record.manifestPath,
    manifest_size: record.manifestSize,
    e_tag: record.eTag,
    naming_scheme: record.namingScheme,
    metadata: record.metadata ? JSON.stringify(record.metadata) : null,
    state: 'recorded',
    kept_name: record.retainedName,
    created_at: Date.now(),
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
  const noManifest = { staging_path: '', manifest_size: 0, naming_scheme: 'V2', kept_name: '' } as const
  for (const version of versions) {
    await database
      .insertInto('table_versions')
      .values({
        object_id: objectId,
        branch,
        version,
        ...noManifest,
        state: 'deleted',
        created_at: Date.now(),
      })
      .onConflict((conflict) =>
        conflict.columns(versionKey).doUpdateSet({ state: 'deleted', staging_path: '', metadata: null }),
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
    .where((where) => where.and({ object_id: objectId, branch, version }))
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
    .where((where) => where.and({ object_id: objectId, branch }))
    .where((where) => where.between('version', first, last))
  if (keepsMetadata) query = query.where('state', '=', 'final').where('metadata', 'is', null)
  await query.execute()
}

function selectVersions(database: CatalogDatabase) {
  return database
    .selectFrom('table_versions')
    .select([
      'object_id as objectId',
      'branch',
      'version',
      'state',
      'staging_path as manifestPath',
      'manifest_size as manifestSize',
      'e_tag as eTag',
      'naming_scheme as namingScheme',
      'metadata',
      'kept_name as retainedName',
    ])
}
