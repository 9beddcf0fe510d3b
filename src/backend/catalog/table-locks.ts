import type { Identifier } from 'catalog-gateway/catalog-api'
import type { TableEntry } from '../database/objects.ts'
import type { CatalogContext } from './context.ts'
import { requireTableWithData } from './find-table.ts'

/**
 * Runs `work` with exclusive access to distinct tables: no job of them runs, either. The locks of one kind are taken for
 * all tables before the next kind, each in the order of the object ids, so callers cannot deadlock.
 */
export async function lockTables<Result>(
  context: CatalogContext,
  tables: readonly TableEntry[],
  work: () => Promise<Result>,
): Promise<Result> {
  const ids = tables.map(({ objectId }) => objectId).toSorted()
  const kinds = [context.jobLock, context.dataLock, context.commitLock]
  const locks = kinds.flatMap((lock) => ids.map((id) => ({ lock, id })))
  const locked = locks.reduceRight(
    (inner, { lock, id }) =>
      () =>
        lock.runExclusive(id, inner),
    work,
  )
  return await locked()
}

/** Changes tags, branches or old versions one at a time, so that a version is not deleted while it is being tagged. */
export async function changeReferences<Result>(
  context: CatalogContext,
  id: Identifier,
  change: (table: TableEntry) => Promise<Result>,
): Promise<Result> {
  const table = await requireTableWithData(context, id)
  return await context.commitLock.runExclusive(table.objectId, () => change(table))
}
