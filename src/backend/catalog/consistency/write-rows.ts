import type { CatalogContext } from '../context/catalog-context.ts'

/** Runs a write of rows to a table that has data; those of one replica run concurrently, replicas take turns. */
export async function writeRows<Result>(
  context: CatalogContext,
  objectId: string,
  write: () => Promise<Result>,
): Promise<Result> {
  return await context.dataLock.runShared(objectId, () => context.writeTurns(objectId, write))
}
