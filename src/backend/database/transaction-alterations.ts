import { parseProperties, type Properties } from './objects.ts'
import type { CatalogDatabase } from './database-schema.ts'

export interface Alterations {
  readonly status: string | undefined
  readonly properties: Properties
}

export async function findAlterations(
  database: CatalogDatabase,
  objectId: string,
  transactionId: string,
): Promise<Alterations> {
  const row = await database
    .selectFrom('transactions')
    .select(['status', 'properties'])
    .where('object_id', '=', objectId)
    .where('transaction_id', '=', transactionId)
    .executeTakeFirst()
  if (row === undefined) return { status: undefined, properties: {} }
  return { status: row.status ?? undefined, properties: parseProperties(row.properties) }
}

export async function saveAlterations(
  database: CatalogDatabase,
  objectId: string,
  transactionId: string,
  { status, properties }: Alterations,
): Promise<void> {
  const values = { status: status ?? null, properties: JSON.stringify(properties) }
  await database
    .insertInto('transactions')
    .values({ object_id: objectId, transaction_id: transactionId, ...values })
    .onConflict((conflict) => conflict.columns(['object_id', 'transaction_id']).doUpdateSet(values))
    .execute()
}
