import type { TableEntry } from '../../database/objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { reconcileVersions } from './reconcile-versions.ts'

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
