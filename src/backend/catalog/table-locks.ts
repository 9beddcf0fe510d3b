import type { Identifier } from 'catalog-gateway/catalog-api'
import type { TableEntry } from '../database/objects.ts'
import type { CatalogContext } from './context.ts'
import { requireTableWithData } from './find-table.ts'
import { reconcileVersions } from './reconcile.ts'

/**
 * Runs `work` with exclusive access to distinct tables: no job of them runs, either. The locks of one kind are taken for
 * all tables before the next kind, each in the order of the object ids, so callers cannot deadlock. Earlier commits are
 * reconciled first.
 */
export async function lockTables<Result>(
  context: CatalogContext,
  tables: readonly TableEntry[],
  work: () => Promise<Result>,
): Promise<Result> {
  const ids = tables.map(({ objectId }) => objectId).toSorted()
  const kinds = [context.jobLock, context.dataLock, context.commitLock]
  const locks = kinds.flatMap((lock) => ids.map((id) => ({ lock, id })))
  const lockFrom = async (index: number): Promise<Result> => {
    const next = locks[index]
    if (next !== undefined) return await next.lock.runExclusive(next.id, () => lockFrom(index + 1))
    for (const table of tables) await reconcileVersions(context, table)
    return await work()
  }
  return await lockFrom(0)
}

/** Changes tags, branches or old versions one at a time, so that a version is not deleted while it is being tagged. */
export async function changeReferences<Result>(
  context: CatalogContext,
  id: Identifier,
  change: (table: TableEntry) => Promise<Result>,
): Promise<Result> {
  const table = await requireTableWithData(context, id)
  return await context.commitLock.runExclusive(table.objectId, async () => {
    await reconcileVersions(context, table)
    return await change(table)
  })
}

/** Runs a write of rows to a table that has data; those of one replica run concurrently. */
export async function writeRows<Result>(
  context: CatalogContext,
  objectId: string,
  write: () => Promise<Result>,
): Promise<Result> {
  return await context.dataLock.runShared(objectId, write)
}
