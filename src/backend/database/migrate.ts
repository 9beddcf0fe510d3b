import { Migrator } from 'kysely'
import { createMigrations, type NameType } from './migrations.ts'
import type { CatalogDatabase } from './database-schema.ts'

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
    provider: createMigrations(nameType),
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
