import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { formatIdentifierForMessage } from '../../../catalog-api/not-found.ts'
import { findTableState, setTableState, type TableEntry } from '../../store/objects.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/lookup.ts'
import { reconcileIfPending, reconcileVersions } from './reconcile-versions.ts'

/** Throws TableNotFound (404), also for a table that is only declared. */
export async function requireTableWithData(catalog: CatalogContext, id: Identifier): Promise<TableEntry> {
  const table = await requireTable(catalog.database, id)
  if (await hasData(catalog, table)) return table
  throw new CatalogError(
    'TableNotFound',
    `the table ${formatIdentifierForMessage(id)} is declared but has no data yet`,
  )
}

/** Whether a table has data; reconciles it first. The caller must not hold the data lock. */
export async function hasData(catalog: CatalogContext, table: TableEntry): Promise<boolean> {
  await reconcileIfPending(catalog, table)
  if (table.state === 'ready') return true
  return await catalog.dataLock.runExclusive(table.objectId, () => findData(catalog, table))
}

/**
 * Whether a table has data. Also checks the location of a declared table, because a client may have written the data
 * itself. The caller holds the data lock. Throws ConcurrentModification (409) if the table no longer exists.
 */
export async function findData(catalog: CatalogContext, table: TableEntry): Promise<boolean> {
  const state = await findTableState(catalog.database, table.objectId)
  if (state === undefined) {
    throw new CatalogError(
      'ConcurrentModification',
      'the table was dropped while the request waited for a lock',
    )
  }
  if (state === 'ready') return true
  await catalog.commitLock.runExclusive(table.objectId, () => reconcileVersions(catalog, table))
  const latest = await catalog.manifestStore.describe(tableLocation(catalog, table), undefined, undefined)
  if (latest === undefined) return false
  await setTableState(catalog.database, table.objectId, 'ready')
  return true
}
