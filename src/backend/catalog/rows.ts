import type { Identifier } from '../../interface/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import { setTableState, type TableEntry } from '../store/objects.ts'
import { requireMainBranch } from './branches.ts'
import { locationOf, type Catalog } from './catalog.ts'
import { requireTable } from './lookup.ts'
import { findData, hasData, requireTableWithData } from './table-data.ts'

/**
 * Adds the rows of an Arrow IPC stream to a table, or replaces all rows by them. A table that is only declared
 * is created by its first rows. Throws TableNotFound (404).
 */
export async function insertIntoTable(
  catalog: Catalog,
  id: Identifier,
  request: RequestOf<'InsertIntoTable'>,
  upload: Uint8Array,
): Promise<ResponseOf<'InsertIntoTable'>> {
  requireMainBranch(request.branch)
  const table = await requireTable(catalog.database, id)
  const mode = request.mode === 'Append' ? 'append' : 'overwrite'
  // Appends of different writers agree by themselves.
  if (mode === 'append' && (await hasData(catalog, table))) {
    return await catalog.dataLock.share(table.objectId, () => insert(catalog, table, upload, mode))
  }
  return await catalog.dataLock.run(table.objectId, async () =>
    (await findData(catalog, table))
      ? await insert(catalog, table, upload, mode)
      : await createByInsert(catalog, table, upload),
  )
}

/** Counts the rows of a table, or those that a SQL predicate selects. */
export async function countTableRows(
  catalog: Catalog,
  id: Identifier,
  request: RequestOf<'CountTableRows'>,
): Promise<ResponseOf<'CountTableRows'>> {
  requireMainBranch(request.branch)
  const table = await requireTableWithData(catalog, id)
  const { predicate, version } = request
  return await catalog.engine.count(locationOf(catalog, table), { predicate, version })
}

/** Runs a query; the answer is the bytes of one Arrow IPC file. */
export async function queryTable(
  catalog: Catalog,
  id: Identifier,
  request: RequestOf<'QueryTable'>,
): Promise<AsyncIterable<Uint8Array>> {
  requireMainBranch(request.branch)
  const table = await requireTableWithData(catalog, id)
  return await catalog.engine.query(locationOf(catalog, table), request)
}

async function insert(
  catalog: Catalog,
  table: TableEntry,
  upload: Uint8Array,
  mode: 'append' | 'overwrite',
): Promise<ResponseOf<'InsertIntoTable'>> {
  const { version, rows } = await catalog.engine.insert(locationOf(catalog, table), upload, mode)
  return { version, num_inserted_rows: rows }
}

async function createByInsert(
  catalog: Catalog,
  table: TableEntry,
  upload: Uint8Array,
): Promise<ResponseOf<'InsertIntoTable'>> {
  const location = locationOf(catalog, table)
  const { version } = await catalog.engine.create(location, upload, 'create')
  await setTableState(catalog.database, table.objectId, 'ready')
  return { version, num_inserted_rows: await catalog.engine.count(location, { version }) }
}
