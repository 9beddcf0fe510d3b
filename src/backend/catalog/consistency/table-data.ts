import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { formatIdentifierForMessage } from '../../../catalog-api/not-found.ts'
import { findTableState, setTableState, type TableEntry } from '../../store/objects.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/lookup.ts'
import { reconcileIfPending, reconcileVersions } from './reconcile-versions.ts'

/** The table of that id, which has data. Throws TableNotFound (404) for one that is only declared, too. */
export async function requireTableWithData(catalog: CatalogContext, id: Identifier): Promise<TableEntry> {
  const table = await requireTable(catalog.database, id)
  if (await hasData(catalog, table)) return table
  throw new CatalogError(
    'TableNotFound',
    `the table ${formatIdentifierForMessage(id)} is declared but has no data yet`,
  )
}

/** Whether a table has data, which then is as recorded. The caller does not hold the lock of the data. */
export async function hasData(catalog: CatalogContext, table: TableEntry): Promise<boolean> {
  await reconcileIfPending(catalog, table)
  if (table.state === 'ready') return true
  return await catalog.dataLock.runExclusive(table.objectId, () => findData(catalog, table))
}

/**
 * Whether a table has data; looks where a declared table would have it, for a client may have written it by
 * itself. The caller holds the lock of the data. Throws ConcurrentModification (409) when the table is gone.
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
