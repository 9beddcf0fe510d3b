import { CatalogError, formatIdentifierForMessage, type Identifier } from 'catalog-gateway/catalog-api'
import { findTableState, setTableState, type TableEntry } from '../../database/objects.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/require-objects.ts'
import { reconcileIfPending, reconcileVersions } from './reconcile-versions.ts'

/** Throws TableNotFound (404), also for a table that is only declared. */
export async function requireTableWithData(context: CatalogContext, id: Identifier): Promise<TableEntry> {
  const table = await requireTable(context.database, id)
  if (await hasData(context, table)) return table
  throw new CatalogError(
    'TableNotFound',
    `the table ${formatIdentifierForMessage(id)} is declared but has no data yet`,
  )
}

/** Whether a table has data; reconciles it first. The caller must not hold the data lock. */
export async function hasData(context: CatalogContext, table: TableEntry): Promise<boolean> {
  await reconcileIfPending(context, table)
  if (table.state === 'ready') return true
  return await context.dataLock.runExclusive(table.objectId, () => hasDataUnderLock(context, table))
}

/**
 * Whether a table has data. Also checks the location of a declared table, because a client may have written the data
 * itself. The caller holds the data lock. Throws ConcurrentModification (409) if the table no longer exists.
 */
export async function hasDataUnderLock(context: CatalogContext, table: TableEntry): Promise<boolean> {
  const state = await findTableState(context.database, table.objectId)
  if (state === undefined) {
    throw new CatalogError(
      'ConcurrentModification',
      'the table was dropped while the request waited for a lock',
    )
  }
  if (state === 'ready') return true
  await context.commitLock.runExclusive(table.objectId, () => reconcileVersions(context, table))
  const latest = await context.manifestStore.describe(tableLocation(context, table), undefined, undefined)
  if (latest === undefined) return false
  await setTableState(context.database, table.objectId, 'ready')
  return true
}
