import { randomUUID } from 'node:crypto'
import type { CatalogDatabase } from './database-schema.ts'

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
