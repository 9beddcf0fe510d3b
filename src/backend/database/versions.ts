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
export interface VersionRecord extends VersionKey {
  /** The staging manifest as the client spelled it. */
  readonly manifestPath: string
  readonly manifestSize: number
  readonly eTag: string | undefined
  readonly namingScheme: 'V1' | 'V2'
  readonly metadata: Properties | undefined
  /** The name of the retained manifest. */
  readonly retainedName: string
}

/** A version whose manifest does not agree with its record yet. */
export interface PendingVersion extends VersionRecord {
  readonly state: VersionState
}

export async function findVersion(
  database: CatalogDatabase,
  key: VersionKey,
): Promise<PendingVersion | undefined> {
  const [found] = await selectVersions(database, key.objectId)
    .where('branch', '=', key.branch)
    .where('version', '=', key.version)
    .execute()
  return found && toVersion(key.objectId, found)
}

/** Lists the versions of a table that may not have their final names yet, or are still to be deleted. */
export async function listPendingVersions(
  database: CatalogDatabase,
  objectId: string,
): Promise<readonly PendingVersion[]> {
  const rows = await selectVersions(database, objectId).where('state', 'in', pendingStates).execute()
  return rows.map((row) => toVersion(objectId, row))
}

const pendingStates: readonly VersionState[] = ['recorded', 'deleted']

/** Whether storage still lags behind the records of a table. Queried before every use of its data. */
export async function hasPendingVersions(database: CatalogDatabase, objectId: string): Promise<boolean> {
  const pending = database
    .selectFrom('table_versions')
    .select('version')
    .where('state', 'in', pendingStates)
    .where('object_id', '=', objectId)
  return (await pending.limit(1).executeTakeFirst()) !== undefined
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
    .where('object_id', '=', objectId)
    .where('branch', '=', branch)
    .where('version', '>=', first)
    .where('version', '<=', last)
    .where('metadata', 'is not', null)
    .execute()
  return new Map(rows.map(({ version, metadata }) => [version, parseProperties(metadata ?? '{}')]))
}

/** Replaces a record of that version: that of a manifest which no longer exists. */
export async function recordVersion(database: CatalogDatabase, record: VersionRecord): Promise<void> {
  const { objectId, branch, version } = record
  await deleteVersionRecords(database, { objectId, branch, first: version, last: version })
  await database
    .insertInto('table_versions')
    .values({
      object_id: objectId,
      branch,
      version,
      staging_path: record.manifestPath,
      manifest_size: record.manifestSize,
      e_tag: record.eTag ?? null,
      naming_scheme: record.namingScheme,
      metadata: record.metadata === undefined ? null : JSON.stringify(record.metadata),
      state: 'recorded',
      kept_name: record.retainedName,
      created_at: Date.now(),
    })
    .execute()
}

/** Records that versions are deleted, whose manifests may still exist. */
export async function recordDeletedVersions(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
  versions: readonly number[],
): Promise<void> {
  const unknown = { staging_path: '', manifest_size: 0, naming_scheme: 'V2', state: 'deleted' } as const
  for (const version of versions) {
    await database
      .insertInto('table_versions')
      .values({ object_id: objectId, branch, version, ...unknown, created_at: Date.now() })
      .onConflict((conflict) =>
        conflict
          .columns(['object_id', 'branch', 'version'])
          .doUpdateSet({ state: 'deleted', staging_path: '', metadata: null }),
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
    .where('object_id', '=', objectId)
    .where('branch', '=', branch)
    .where('version', '=', version)
    .execute()
}

interface VersionRange {
  readonly objectId: string
  readonly branch: string
  readonly first: number
  readonly last: number
  /** Whether final versions with metadata stay. */
  readonly keepsMetadata?: boolean
}

export async function deleteVersionRecords(
  database: CatalogDatabase,
  { objectId, branch, first, last, keepsMetadata = false }: VersionRange,
): Promise<void> {
  let query = database
    .deleteFrom('table_versions')
    .where('object_id', '=', objectId)
    .where('branch', '=', branch)
    .where('version', '>=', first)
    .where('version', '<=', last)
  if (keepsMetadata) query = query.where('state', '=', 'final').where('metadata', 'is', null)
  await query.execute()
}

function selectVersions(database: CatalogDatabase, objectId: string) {
  return database
    .selectFrom('table_versions')
    .select([
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
    .where('object_id', '=', objectId)
}

function toVersion(
  objectId: string,
  {
    eTag,
    metadata,
    retainedName,
    ...row
  }: Awaited<ReturnType<ReturnType<typeof selectVersions>['executeTakeFirstOrThrow']>>,
): PendingVersion {
  return {
    ...row,
    objectId,
    eTag: eTag ?? undefined,
    metadata: metadata === null ? undefined : parseProperties(metadata),
    retainedName: retainedName ?? 'none',
  }
}
