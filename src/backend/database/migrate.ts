import { Migrator, sql, type Kysely, type RawBuilder } from 'kysely'
import type { CatalogDatabase } from './database-schema.ts'

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
