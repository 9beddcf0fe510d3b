import { sql, type Selectable } from 'kysely'
import type { Properties } from './objects.ts'
import type { CatalogDatabase, CatalogTables } from './database-schema.ts'

/** What is on record of a version that a client commits. */
export interface VersionRecord {
  /** `main` for the main branch. */
  readonly branch: string
  readonly version: number
  /** The staging manifest, as the client spelled it. */
  readonly manifestPath: string
  readonly manifestSize: number
  readonly eTag: string | undefined
  readonly namingScheme: 'V1' | 'V2'
  readonly metadata: Properties | undefined
  readonly state: 'recorded' | 'final'
  /** Only of a version that was committed by a batch: the name under which its manifest was put aside. */
  readonly retainedName?: string | undefined
}

/** The record of one version of a table. */
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

/** The records of the versions of a table that may not have their final names yet. */
export async function listRecordedVersions(
  database: CatalogDatabase,
  objectId: string,
): Promise<readonly VersionRecord[]> {
  // The index holds these alone, and is only used for the literal.
  const rows = await selectVersions(database, objectId).where('state', '=', sql.lit('recorded')).execute()
  return rows.map(toRecord)
}

/** The metadata of the versions of a branch from the one to the other, of those that have any. */
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
  return new Map(rows.map(({ version, metadata }) => [version, JSON.parse(metadata ?? '{}') as Properties]))
}

/** Records that a version is about to get its final name; false when the table is gone or the version recorded. */
export async function recordVersion(
  database: CatalogDatabase,
  objectId: string,
  record: Omit<VersionRecord, 'state'>,
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

/** Forgets a version that never got its final name, or that storage has no more. */
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

/** Forgets all versions of a branch. */
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

/** Forgets the final versions of a branch before `version`, but those that carry metadata. */
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

const versionColumns = [
  'branch',
  'version',
  'staging_path',
  'manifest_size',
  'e_tag',
  'naming_scheme',
  'metadata',
  'state',
  'kept_name',
] as const

function selectVersions(database: CatalogDatabase, objectId: string) {
  return database.selectFrom('table_versions').select(versionColumns).where('object_id', '=', objectId)
}

function toRecord(
  row: Pick<Selectable<CatalogTables['table_versions']>, (typeof versionColumns)[number]>,
): VersionRecord {
  return {
    branch: row.branch,
    version: row.version,
    manifestPath: row.staging_path,
    manifestSize: row.manifest_size,
    eTag: row.e_tag ?? undefined,
    namingScheme: row.naming_scheme,
    metadata: row.metadata === null ? undefined : (JSON.parse(row.metadata) as Properties),
    state: row.state,
    retainedName: row.kept_name ?? undefined,
  }
}
