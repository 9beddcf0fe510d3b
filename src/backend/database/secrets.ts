import type { CatalogDatabase } from './database-schema.ts'
import type { Slice } from './listings.ts'
import type { NameInNamespace } from './objects.ts'

/** What is known of a secret besides its value; times in milliseconds since the epoch. */
export interface SecretEntry {
  readonly createdAt: number
  /** When its value was last replaced. */
  readonly updatedAt: number
}

/** Adds a secret with a sealed value. Returns false if the name is taken. */
export async function insertSecret(
  database: CatalogDatabase,
  { namespaceId, name }: NameInNamespace,
  sealedValue: string,
): Promise<boolean> {
  const now = Date.now()
  const inserted = await database
    .insertInto('secrets')
    .values({
      namespace_id: namespaceId,
      name,
      sealed_value: sealedValue,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

/** Replaces the sealed value of a secret. Returns false if it does not exist. */
export async function replaceSecret(
  database: CatalogDatabase,
  { namespaceId, name }: NameInNamespace,
  sealedValue: string,
): Promise<boolean> {
  const updated = await database
    .updateTable('secrets')
    .set({ sealed_value: sealedValue, updated_at: Date.now() })
    .where('namespace_id', '=', namespaceId)
    .where('name', '=', name)
    .executeTakeFirst()
  return updated.numUpdatedRows === 1n
}

export async function findSecret(
  database: CatalogDatabase,
  { namespaceId, name }: NameInNamespace,
): Promise<SecretEntry | undefined> {
  const row = await database
    .selectFrom('secrets')
    .select(['created_at', 'updated_at'])
    .where('namespace_id', '=', namespaceId)
    .where('name', '=', name)
    .executeTakeFirst()
  return row && { createdAt: row.created_at, updatedAt: row.updated_at }
}

/** Returns false if the secret does not exist. */
export async function removeSecret(
  database: CatalogDatabase,
  { namespaceId, name }: NameInNamespace,
): Promise<boolean> {
  const deleted = await database
    .deleteFrom('secrets')
    .where('namespace_id', '=', namespaceId)
    .where('name', '=', name)
    .executeTakeFirst()
  return deleted.numDeletedRows === 1n
}

/** Lists the names of the secrets of a namespace. */
export async function listSecretNames(
  database: CatalogDatabase,
  namespaceId: string,
  { after, limit }: Slice,
): Promise<string[]> {
  let query = database
    .selectFrom('secrets')
    .select('name')
    .where('namespace_id', '=', namespaceId)
    .orderBy('name')
  if (after !== undefined) query = query.where('name', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  return (await query.execute()).map((row) => row.name)
}
