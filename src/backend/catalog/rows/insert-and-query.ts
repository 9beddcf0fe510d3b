import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import type { TablePoint } from '../../engine/table-point.ts'
import { setTableState, type TableEntry } from '../../store/objects.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/lookup.ts'
import { findData, hasData } from '../consistency/table-data.ts'
import { resolvePoint, requirePoint } from '../consistency/table-point.ts'

/**
 * Appends the rows of an Arrow IPC stream to a table, or replaces all rows by them. Creates the data of a declared
 * table. Throws TableNotFound or TableBranchNotFound (404).
 */
export async function insertIntoTable(
  catalog: CatalogContext,
  id: Identifier,
  request: RequestOf<'InsertIntoTable'>,
  upload: Uint8Array,
): Promise<ResponseOf<'InsertIntoTable'>> {
  const table = await requireTable(catalog.database, id)
  const point = await resolvePoint(catalog, id, table, { branch: request.branch })
  const mode = request.mode === 'Append' ? 'append' : 'overwrite'
  // The engine resolves concurrent appends.
  if (mode === 'append' && (await hasData(catalog, table))) {
    return await catalog.dataLock.runShared(table.objectId, () => insert(catalog, point, upload, mode))
  }
  return await catalog.dataLock.runExclusive(table.objectId, async () =>
    (await findData(catalog, table))
      ? await insert(catalog, point, upload, mode)
      : await createByInsert(catalog, table, upload),
  )
}

/** Counts all rows of a table, or those that a SQL predicate selects. */
export async function countTableRows(
  catalog: CatalogContext,
  id: Identifier,
  request: RequestOf<'CountTableRows'>,
): Promise<ResponseOf<'CountTableRows'>> {
  const { point } = await requirePoint(catalog, id, request)
  return await catalog.engine.count(point.location, { ...point, predicate: request.predicate })
}

/** Runs a query. Yields the bytes of one Arrow IPC file. */
export async function queryTable(
  catalog: CatalogContext,
  id: Identifier,
  request: RequestOf<'QueryTable'>,
): Promise<AsyncIterable<Uint8Array>> {
  const { point } = await requirePoint(catalog, id, request)
  return await catalog.engine.query(point.location, request)
}

async function insert(
  catalog: CatalogContext,
  { location, branch }: TablePoint,
  upload: Uint8Array,
  mode: 'append' | 'overwrite',
): Promise<ResponseOf<'InsertIntoTable'>> {
  const { version, rows } = await catalog.engine.insert(location, upload, mode, branch)
  return { version, num_inserted_rows: rows }
}

/** Creates the data of a declared table. The caller holds the data lock. */
export async function createByInsert(
  catalog: CatalogContext,
  table: TableEntry,
  upload: Uint8Array,
): Promise<ResponseOf<'InsertIntoTable'>> {
  const location = tableLocation(catalog, table)
  const { version } = await catalog.engine.create(location, upload, 'create')
  await setTableState(catalog.database, table.objectId, 'ready')
  return { version, num_inserted_rows: await catalog.engine.count(location, { version }) }
}
