import { sql } from 'kysely'
import { parseProperties, type Properties } from './objects.ts'
import type { CatalogDatabase } from './schema.ts'

/** The record of a version that a client commits. */
export interface VersionRecord {
  /** `main` for the main branch. */
  readonly branch: string
  readonly version: number
  /** The staging manifest as the client spelled it. */
  readonly manifestPath: string
  readonly manifestSize: number
  readonly eTag: string | undefined
  readonly namingScheme: 'V1' | 'V2'
  readonly metadata: Properties | undefined
  /** Only for versions committed by a batch: the name of the retained manifest. */
  readonly retainedName?: string | undefined
}

export async function findVersion(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
  version: number,
): Promise<VersionRecord | undefined> {
  const row = await selectVersions(database, objectId)
    .where('branch', '=', branch)
    .where('version', '=', version)
    .executeTakeFirst()
  return row && toRecord(row)
}

/** Lists the versions of a table that may not have their final names yet. */
export async function listRecordedVersions(
  database: CatalogDatabase,
  objectId: string,
): Promise<readonly VersionRecord[]> {
  // The partial index is only used for the literal.
  const rows = await selectVersions(database, objectId).where('state', '=', sql.lit('recorded')).execute()
  return rows.map(toRecord)
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

/** Returns false if the table does not exist or the version is already recorded. */
export async function recordVersion(
  database: CatalogDatabase,
  objectId: string,
  record: VersionRecord,
): Promise<boolean> {
  const inserted = await database
    .insertInto('table_versions')
    .values({
      object_id: objectId,
      branch: record.branch,
      version: record.version,
      staging_path: record.manifestPath,
      manifest_size: record.manifestSize,
      e_tag: record.eTag ?? null,
      naming_scheme: record.namingScheme,
      metadata: record.metadata === undefined ? null : JSON.stringify(record.metadata),
      state: 'recorded',
      kept_name: record.retainedName ?? null,
      created_at: Date.now(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

/** Records that a version has its final name. */
export async function finishVersion(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
  version: number,
): Promise<void> {
  await database
    .updateTable('table_versions')
    .set({ state: 'final' })
    .where('object_id', '=', objectId)
    .where('branch', '=', branch)
    .where('version', '=', version)
    .execute()
}

export async function deleteVersionRecord(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
  version: number,
): Promise<void> {
  await database
    .deleteFrom('table_versions')
    .where('object_id', '=', objectId)
    .where('branch', '=', branch)
    .where('version', '=', version)
    .execute()
}

export async function deleteBranchRecords(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
): Promise<void> {
  await database
    .deleteFrom('table_versions')
    .where('object_id', '=', objectId)
    .where('branch', '=', branch)
    .execute()
}

/** Deletes the records of final versions of a branch before `version`, except those with metadata. */
export async function deleteVersionRecordsBefore(
  database: CatalogDatabase,
  objectId: string,
  branch: string,
  version: number,
): Promise<void> {
  await database
    .deleteFrom('table_versions')
    .where('object_id', '=', objectId)
    .where('branch', '=', branch)
    .where('version', '<', version)
    .where('state', '=', 'final')
    .where('metadata', 'is', null)
    .execute()
}

function selectVersions(database: CatalogDatabase, objectId: string) {
  return database
    .selectFrom('table_versions')
    .select([
      'branch',
      'version',
      'staging_path as manifestPath',
      'manifest_size as manifestSize',
      'e_tag',
      'naming_scheme as namingScheme',
      'metadata',
      'kept_name',
    ])
    .where('object_id', '=', objectId)
}

function toRecord({
  e_tag: eTag,
  metadata,
  kept_name: retainedName,
  ...row
}: Awaited<ReturnType<ReturnType<typeof selectVersions>['executeTakeFirstOrThrow']>>): VersionRecord {
  return {
    ...row,
    eTag: eTag ?? undefined,
    metadata: metadata === null ? undefined : parseProperties(metadata),
    retainedName: retainedName ?? undefined,
  }
}
