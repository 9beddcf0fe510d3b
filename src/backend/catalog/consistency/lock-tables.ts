import type { TableEntry } from '../../store/objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { reconcileVersions } from './reconcile-versions.ts'

/**
 * Runs `work` alone on several tables, each named once: nobody else writes their data, commits a version, or settles one. The locks
 * are taken in one order, those of the data before those of the commits, each by object id, so that no two who do
 * so wait for each other. What was committed before is settled when `work` begins.
 */
export async function lockTables<Result>(
  catalog: CatalogContext,
  tables: readonly TableEntry[],
  work: () => Promise<Result>,
): Promise<Result> {
  const ids = tables.map(({ objectId }) => objectId).toSorted()
  const locks = [catalog.dataLock, catalog.commitLock].flatMap((lock) => ids.map((id) => ({ lock, id })))
  const lockFrom = async (index: number): Promise<Result> => {
    const next = locks[index]
    if (next !== undefined) return await next.lock.runExclusive(next.id, () => lockFrom(index + 1))
    for (const table of tables) await reconcileVersions(catalog, table)
    return await work()
  }
  return await lockFrom(0)
}
