import { randomUUID } from 'node:crypto'
import { CamelCasePlugin, type Dialect, Kysely, type LogConfig, Migrator, sql } from 'kysely'

/** Columns have the names of these members in snake case. */
export interface CatalogTables {
  objects: ObjectTable
  table_versions: VersionTable
  table_jobs: JobTable
  leftovers: LeftoverTable
  catalog_identity: CatalogIdentityTable
}

/** Every namespace and every table is one row, so they share one set of names per parent. */
interface ObjectTable {
  /** Random and permanent: it survives a rename. */
  objectId: string
  /** The names from the root down, joined by `/`, which names cannot contain; the root is the empty text. */
  path: string
  /** The path of the parent namespace; null only for the root. */
  parentPath: string | null
  name: string
  kind: 'namespace' | 'table'
  /** A JSON map of strings. */
  properties: string
  /** Only for tables: the data folder of the table, relative to that of the catalog. */
  location: string | null
  /** Only for tables. */
  state: TableState | null
  createdAt: number
}

/** `declared`: the name exists without data. `ready`: the table has data. */
export type TableState = 'declared' | 'ready'

/**
 * `recorded`: a client commits it, and its manifest may not have its final name yet. `final`: it has. `deleted`: the
 * manifest of this version, whoever made it, is still to be removed.
 */
export type VersionState = 'recorded' | 'final' | 'deleted'

/** A version that a client committed, or that is to be deleted; then the columns about its staging say nothing. */
export interface VersionTable {
  objectId: string
  branch: string
  version: number
  /** The staging manifest as the client spelled it; identifies a replay. */
  stagingPath: string
  manifestSize: number
  /** The entity tag of the staging manifest that was verified. */
  eTag: string | null
  namingScheme: 'V1' | 'V2'
  /** A JSON map of strings. */
  metadata: string | null
  state: VersionState
  /** The name of the retained manifest. */
  keptName: string
  createdAt: number
}

/** Data folders without an owner, or without one yet, that are to be deleted. */
interface LeftoverTable {
  location: string
  objectId: string
}

/** One row: the identity of this catalog. */
interface CatalogIdentityTable {
  name: 'catalog'
  /** Random and permanent. */
  catalogId: string
  /** `marked`: the storage of the tables carries the id. */
  state: 'new' | 'marked'
}

/** Work that continues after the response to the request that started it. */
export interface JobTable {
  /** Random. */
  jobId: string
  operation: string
  /** The table that the job changes; it may no longer exist. */
  objectId: string
  /** The path of that table when the job was submitted. */
  path: string
  /** The parameters as JSON. */
  request: string
  state: JobState
  /** How often a process has started the job. */
  attempts: number
  /** As JSON; only of a finished job. */
  result: string | null
  /** As JSON; only of a failed job. */
  failure: string | null
  createdAt: number
  startedAt: number | null
  /** Null until the job is finished, failed or cancelled. */
  endedAt: number | null
}

/** `running` is also the state of a job whose process died. */
export type JobState = 'queued' | 'running' | 'finished' | 'failed' | 'cancelled'

/** The catalog database, or one transaction on it. */
export type CatalogDatabase = Omit<Kysely<CatalogTables>, 'transaction' | 'startTransaction'>

/**
 * Runs `work` in a serializable transaction, several times if it conflicts with another one: it must have no side effects
 * outside of the database.
 */
export type Transact = <Result>(work: (database: CatalogDatabase) => Promise<Result>) => Promise<Result>

/**
 * Opens a database, and creates the tables and the `schema` of PostgreSQL if they are missing. Safe for concurrent
 * processes. Rejects with a plain error.
 */
export async function openTables(dialect: Dialect, log: LogConfig, schema?: string) {
  const database = new Kysely<CatalogTables>({ dialect, log, plugins: [new CamelCasePlugin()] })
  // In SQLite, text is compared by code points and sorted in the byte order of UTF-8, as names are.
  const nameType = schema === undefined ? 'text' : 'text collate "C"'
  const migrator = new Migrator({
    db: database,
    // In order. A released migration is never edited.
    provider: {
      getMigrations: async () => ({
        '0001-catalog': {
          async up(migrated) {
            const statements = createTables.replaceAll('NAME', nameType).replace('RANDOM', randomUUID())
            for (const statement of statements.split(';')) await sql.raw(statement).execute(migrated)
          },
        },
      }),
    },
    migrationTableName: 'catalog_schema',
    ...(schema !== undefined && { migrationTableSchema: schema }),
  })
  const { error } = await migrator.migrateToLatest()
  if (error === undefined) return database
  await database.destroy()
  throw new Error('migration of the catalog database failed', { cause: error })
}

/** For both databases, with the root and an id. The index by state is for repairs, and before every read. */
const createTables = `
create table if not exists objects (
  object_id text primary key,
  path NAME not null unique,
  parent_path NAME references objects (path),
  name NAME not null,
  kind text not null,
  properties text not null,
  location text unique,
  state text,
  created_at bigint not null,
  unique (parent_path, name)
);
create table if not exists table_versions (
  object_id text not null references objects (object_id) on delete cascade,
  branch text not null,
  version bigint not null,
  staging_path text not null,
  manifest_size bigint not null,
  e_tag text,
  naming_scheme text not null,
  metadata text,
  state text not null,
  kept_name text,
  created_at bigint not null,
  primary key (object_id, branch, version)
);
create index if not exists table_versions_by_state on table_versions (state, object_id);
create table if not exists leftovers (location text primary key, object_id text not null);
create table if not exists catalog_identity (
  name text primary key,
  catalog_id text not null,
  state text not null
);
create table if not exists table_jobs (
  job_id text primary key,
  operation text not null,
  object_id text not null,
  path NAME not null,
  request text not null,
  state text not null,
  attempts integer not null,
  result text,
  failure text,
  created_at bigint not null,
  started_at bigint,
  ended_at bigint
);
insert into objects (object_id, path, name, kind, properties, created_at)
  values ('root', '', '', 'namespace', '{}', 0) on conflict do nothing;
insert into catalog_identity values ('catalog', 'RANDOM', 'new') on conflict do nothing`

/** `isMarked`: whether the storage of its tables carries the id of the catalog. */
export async function readCatalogIdentity(database: CatalogDatabase) {
  const { catalogId, state } = await database
    .selectFrom('catalog_identity')
    .selectAll()
    .executeTakeFirstOrThrow()
  return { catalogId, isMarked: state === 'marked' }
}

export async function recordStorageMarked(database: CatalogDatabase): Promise<void> {
  await database.updateTable('catalog_identity').set({ state: 'marked' }).execute()
}
