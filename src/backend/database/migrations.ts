import { sql, type Kysely, type Migration, type MigrationProvider, type RawBuilder } from 'kysely'

/** For names: compared by code points and sorted in the byte order of UTF-8, as `text` is in SQLite. */
export type NameType = 'text' | RawBuilder<unknown>

/** The same in PostgreSQL, whatever the collation of its database. */
export const postgresNameType: NameType = sql`text collate "C"`

const objectsAndVersions = (nameType: NameType): Migration => ({
  async up(database: Kysely<unknown>): Promise<void> {
    await database.schema
      .createTable('objects')
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
    await database.schema
      .createTable('table_versions')
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
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('table_versions_key', ['object_id', 'branch', 'version'])
      .execute()
    await database.schema
      .createTable('leftovers')
      .addColumn('location', 'text', (column) => column.primaryKey())
      .addColumn('object_id', 'text', (column) => column.notNull())
      .execute()
  },
})

const batchesAndTransactions: Migration = {
  async up(database: Kysely<unknown>): Promise<void> {
    await database.schema.alterTable('table_versions').addColumn('kept_name', 'text').execute()
    await database.schema
      .createIndex('table_versions_recorded')
      .on('table_versions')
      .column('object_id')
      .where(sql.ref('state'), '=', 'recorded')
      .execute()
    await database.schema
      .createTable('doomed_versions')
      .addColumn('object_id', 'text', (column) =>
        column.notNull().references('objects.object_id').onDelete('cascade'),
      )
      .addColumn('branch', 'text', (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('doomed_versions_key', ['object_id', 'branch', 'version'])
      .execute()
    await database.schema
      .createTable('transactions')
      .addColumn('object_id', 'text', (column) =>
        column.notNull().references('objects.object_id').onDelete('cascade'),
      )
      .addColumn('transaction_id', 'text', (column) => column.notNull())
      .addColumn('status', 'text')
      .addColumn('properties', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('transactions_key', ['object_id', 'transaction_id'])
      .execute()
  },
}

const catalogIdentity: Migration = {
  async up(database: Kysely<unknown>): Promise<void> {
    await database.schema
      .createTable('catalog_identity')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('catalog_id', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .execute()
  },
}

/** Partial indexes for listings, commits and repairs: none of them scans unrelated rows. */
const indexesForListings: Migration = {
  async up(database: Kysely<unknown>): Promise<void> {
    const onObjects = (name: string) => database.schema.createIndex(name).on('objects')
    await onObjects('objects_by_kind').columns(['parent_path', 'kind', 'name']).execute()
    await onObjects('objects_tables').column('path').where(sql.ref('kind'), '=', 'table').execute()
    await onObjects('objects_ready')
      .columns(['parent_path', 'name'])
      .where(sql.ref('state'), '=', 'ready')
      .execute()
    await onObjects('objects_all_ready').column('path').where(sql.ref('state'), '=', 'ready').execute()
    await onObjects('objects_creating').column('path').where(sql.ref('state'), '=', 'creating').execute()
    await database.schema
      .createIndex('table_versions_plain')
      .on('table_versions')
      .columns(['object_id', 'branch', 'version'])
      .where(sql.ref('metadata'), 'is', null)
      .execute()
  },
}

const jobs = (nameType: NameType): Migration => ({
  async up(database: Kysely<unknown>): Promise<void> {
    await database.schema
      .createTable('jobs')
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
    await database.schema
      .createIndex('jobs_by_end')
      .on('jobs')
      .columns(['ended_at', 'created_at', 'job_id'])
      .execute()
  },
})

const materializedViews = (nameType: NameType): Migration => ({
  async up(database: Kysely<unknown>): Promise<void> {
    await database.schema
      .createTable('materialized_views')
      .addColumn('object_id', 'text', (column) =>
        column.primaryKey().references('objects.object_id').onDelete('cascade'),
      )
      .addColumn('source_object_id', 'text', (column) => column.notNull())
      .addColumn('source_path', nameType, (column) => column.notNull())
      .addColumn('query', 'text', (column) => column.notNull())
      .addColumn('selection', 'text', (column) => column.notNull())
      .execute()
  },
})

const functionsAndSecrets = (nameType: NameType): Migration => ({
  async up(database: Kysely<unknown>): Promise<void> {
    await database.schema
      .createTable('functions')
      .addColumn('namespace_id', 'text', (column) =>
        column.notNull().references('objects.object_id').onDelete('cascade'),
      )
      .addColumn('name', nameType, (column) => column.notNull())
      .addColumn('version', 'bigint', (column) => column.notNull())
      .addColumn('object_id', 'text', (column) => column.notNull())
      .addColumn('definition', 'text', (column) => column.notNull())
      .addColumn('content', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('functions_key', ['namespace_id', 'name', 'version'])
      .execute()
    await database.schema
      .createTable('secrets')
      .addColumn('namespace_id', 'text', (column) =>
        column.notNull().references('objects.object_id').onDelete('cascade'),
      )
      .addColumn('name', nameType, (column) => column.notNull())
      .addColumn('sealed_value', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('secrets_key', ['namespace_id', 'name'])
      .execute()
  },
})

/** In order. A released migration is never edited. */
export const createMigrations = (nameType: NameType): MigrationProvider => ({
  getMigrations: () =>
    Promise.resolve({
      '0001-objects-and-versions': objectsAndVersions(nameType),
      '0002-batches-and-transactions': batchesAndTransactions,
      '0003-catalog-identity': catalogIdentity,
      '0004-indexes-for-listings': indexesForListings,
      '0005-jobs': jobs(nameType),
      '0006-materialized-views': materializedViews(nameType),
      '0007-functions-and-secrets': functionsAndSecrets(nameType),
    }),
})
