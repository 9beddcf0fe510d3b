import type { Kysely, Migration, MigrationProvider } from 'kysely'

/**
 * Names are compared by exact code points and listed in the byte order of UTF-8: what SQLite does by itself;
 * another database needs its "C" collation on `path` and `name`.
 */
const objectsAndVersions: Migration = {
  async up(database: Kysely<unknown>): Promise<void> {
    await database.schema
      .createTable('objects')
      .addColumn('object_id', 'text', (column) => column.primaryKey())
      .addColumn('path', 'text', (column) => column.notNull().unique())
      .addColumn('parent_path', 'text', (column) => column.references('objects.path'))
      .addColumn('name', 'text', (column) => column.notNull())
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
      .execute()
  },
}

/** The changes of the store's schema, in order. A migration that was released is never edited. */
export const migrations: MigrationProvider = {
  getMigrations: () => Promise.resolve({ '0001-objects-and-versions': objectsAndVersions }),
}
