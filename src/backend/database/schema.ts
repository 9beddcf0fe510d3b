import { randomUUID } from 'node:crypto'
import { type ColumnType, type Kysely, type LogEvent, Migrator, sql, type RawBuilder } from 'kysely'

/** Every namespace and every table is one row, so they share one set of names per parent. */
interface ObjectTable {
  /** Random and permanent: it survives a rename. */
  object_id: string
  /** The names from the root down, joined by `/`, which names cannot contain; the root is the empty text. */
  path: string
  /** The path of the parent namespace; null only for the root. */
  parent_path: string | null
  name: string
  kind: 'namespace' | 'table'
  /** A JSON map of strings. */
  properties: string
  /** Only for tables: the data folder of the table, relative to that of the catalog. */
  location: string | null
  /** Only for tables. */
  state: TableState | null
  created_at: number
}

/**
 * `creating`: the name is reserved while the engine writes the first version; the table is invisible. `declared`: the
 * name exists without data. `ready`: the table has data.
 */
export type TableState = 'creating' | 'declared' | 'ready'

/** A version that a client committed through CreateTableVersion. */
interface VersionTable {
  object_id: string
  branch: string
  version: number
  /** The staging manifest as the client spelled it; identifies a replay. */
  staging_path: string
  manifest_size: number
  /** The entity tag of the staging manifest that was verified. */
  e_tag: string | null
  naming_scheme: 'V1' | 'V2'
  /** A JSON map of strings. */
  metadata: string | null
  /** `recorded`: its manifest may still be at the staging path. `final`: it has its final name. */
  state: ColumnType<'recorded' | 'final', 'recorded', 'final'>
  /** Only for versions committed by a batch: the name of the retained manifest. */
  kept_name: string | null
  created_at: number
}

/** A deleted version whose manifest is still to be removed. */
interface DeletedVersionTable {
  object_id: string
  branch: string
  version: number
}

/** Data folders without an owner that are still to be deleted. */
interface LeftoverTable {
  location: string
  object_id: string
}

/** One row: the identity of this catalog. */
interface CatalogIdentityTable {
  name: 'catalog'
  /** Random and permanent. */
  catalog_id: string
  /** `marked`: the storage of the tables carries the id. */
  state: 'new' | 'marked'
}

/** Work that continues after the response to the request that started it. */
interface JobTable {
  /** Random. */
  job_id: string
  operation: string
  /** The table that the job changes; it may no longer exist. */
  object_id: string
  /** The path of that table when the job was submitted. */
  path: string
  /** The parameters as JSON. */
  request: string
  state: JobState
  /** 1 if the job is to end without a further change. */
  cancel_requested: 0 | 1
  /** How often a process has started the job. */
  attempts: number
  /** As JSON; only of a finished job. */
  result: string | null
  /** As JSON; only of a failed job. */
  failure: string | null
  created_at: number
  started_at: number | null
  /** Null until the job is finished, failed or cancelled. */
  ended_at: number | null
}

/** `running` is also the state of a job whose process died. */
export type JobState = 'queued' | 'running' | 'finished' | 'failed' | 'cancelled'

export interface CatalogTables {
  objects: ObjectTable
  table_versions: VersionTable
  doomed_versions: DeletedVersionTable
  jobs: JobTable
  leftovers: LeftoverTable
  catalog_identity: CatalogIdentityTable
}

/** Is called after each statement. */
export type OnQuery = (event: LogEvent) => void

/** The catalog database, or one transaction on it. */
export type CatalogDatabase = Kysely<CatalogTables>

/** For names: compared by code points and sorted in the byte order of UTF-8, as `text` is in SQLite. */
type NameType = 'text' | RawBuilder<unknown>

/** The same in PostgreSQL, whatever the collation of its database. */
export const postgresNameType: NameType = sql`text collate "C"`

/**
 * Creates the root and the PostgreSQL `schema` if missing. Safe for concurrent processes. Rejects with a plain error.
 */
export async function migrateDatabase(
  database: CatalogDatabase,
  nameType: NameType,
  schema?: string,
): Promise<void> {
  const migrator = new Migrator({
    db: database,
    // In order. A released migration is never edited.
    provider: {
      getMigrations: () =>
        Promise.resolve({ '0001-catalog': { up: (database) => createTables(database, nameType) } }),
    },
    migrationTableName: 'catalog_migrations',
    ...(schema !== undefined && { migrationTableSchema: schema }),
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) {
    throw new Error('migration of the catalog database failed', { cause: error })
  }
  await database
    .insertInto('objects')
    .values({
      object_id: 'root',
      path: '',
      parent_path: null,
      name: '',
      kind: 'namespace',
      properties: '{}',
      created_at: Date.now(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The partial indexes are for listings, commits and repairs: none of them scans unrelated rows. */
async function createTables({ schema }: Kysely<unknown>, nameType: NameType): Promise<void> {
  const create = (name: string) => schema.createTable(name).ifNotExists()
  const index = (name: string, table: string) => schema.createIndex(name).ifNotExists().on(table)
  await create('objects')
    .addColumn('object_id', 'text', (column) => column.primaryKey())
    .addColumn('path', nameType, (column) => column.notNull().unique())
    .addColumn('parent_path', nameType, (column) => column.references('objects.path'))
    .addColumn('name', nameType, (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('properties', 'text', (column) => column.notNull())
    .addColumn('location', 'text', (column) => column.unique())
    .addColumn('state', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('objects_parent_path_name', ['parent_path', 'name'])
    .execute()
  await index('objects_by_kind', 'objects').columns(['parent_path', 'kind', 'name']).execute()
  await index('objects_tables', 'objects').column('path').where(sql.ref('kind'), '=', 'table').execute()
  await index('objects_ready', 'objects')
    .columns(['parent_path', 'name'])
    .where(sql.ref('state'), '=', 'ready')
    .execute()
  await index('objects_all_ready', 'objects').column('path').where(sql.ref('state'), '=', 'ready').execute()
  await index('objects_creating', 'objects').column('path').where(sql.ref('state'), '=', 'creating').execute()
  await create('table_versions')
    .addColumn('object_id', 'text', (column) =>
      column.notNull().references('objects.object_id').onDelete('cascade'),
    )
    .addColumn('branch', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('staging_path', 'text', (column) => column.notNull())
    .addColumn('manifest_size', 'bigint', (column) => column.notNull())
    .addColumn('e_tag', 'text')
    .addColumn('naming_scheme', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('kept_name', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('table_versions_key', ['object_id', 'branch', 'version'])
    .execute()
  await index('table_versions_recorded', 'table_versions')
    .column('object_id')
    .where(sql.ref('state'), '=', 'recorded')
    .execute()
  await index('table_versions_plain', 'table_versions')
    .columns(['object_id', 'branch', 'version'])
    .where(sql.ref('metadata'), 'is', null)
    .execute()
  await create('doomed_versions')
    .addColumn('object_id', 'text', (column) =>
      column.notNull().references('objects.object_id').onDelete('cascade'),
    )
    .addColumn('branch', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('doomed_versions_key', ['object_id', 'branch', 'version'])
    .execute()
  await create('leftovers')
    .addColumn('location', 'text', (column) => column.primaryKey())
    .addColumn('object_id', 'text', (column) => column.notNull())
    .execute()
  await create('catalog_identity')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('catalog_id', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .execute()
  await create('jobs')
    .addColumn('job_id', 'text', (column) => column.primaryKey())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('object_id', 'text', (column) => column.notNull())
    .addColumn('path', nameType, (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('cancel_requested', 'integer', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('result', 'text')
    .addColumn('failure', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .execute()
  await index('jobs_by_end', 'jobs').columns(['ended_at', 'created_at', 'job_id']).execute()
}

export interface CatalogIdentity {
  readonly catalogId: string
  /** Whether the storage of its tables carries the id. */
  readonly isMarked: boolean
}

/** A new database gets an id. */
export async function readCatalogIdentity(database: CatalogDatabase): Promise<CatalogIdentity> {
  await database
    .insertInto('catalog_identity')
    .values({ name: 'catalog', catalog_id: randomUUID(), state: 'new' })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const { catalog_id: catalogId, state } = await database
    .selectFrom('catalog_identity')
    .select(['catalog_id', 'state'])
    .executeTakeFirstOrThrow()
  return { catalogId, isMarked: state === 'marked' }
}

export async function recordStorageMarked(database: CatalogDatabase): Promise<void> {
  await database.updateTable('catalog_identity').set({ state: 'marked' }).execute()
}
