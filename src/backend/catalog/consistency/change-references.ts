import type { Identifier } from 'catalog-gateway/catalog-api'
import type { TableEntry } from '../../database/objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { lockTables } from './lock-tables.ts'
import { reconcileVersions } from './reconcile-versions.ts'
import { requireTableWithData } from './table-data.ts'

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

/** Like `changeReferences`, but also excludes writers of rows and jobs, for a change that deletes rows. */
export async function changeReferencesAndRows<Result>(
  context: CatalogContext,
  id: Identifier,
  change: (table: TableEntry) => Promise<Result>,
): Promise<Result> {
  const table = await requireTableWithData(context, id)
  return await lockTables(context, [table], () => change(table))
}
