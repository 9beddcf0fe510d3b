import { CatalogError, type Identifier, type RequestOf, type ResponseOf } from 'catalog-gateway/catalog-api'
import type { TablePoint } from '../../engine/table-point.ts'
import { setTableState, type TableEntry } from '../../database/objects.ts'
import { tableLocation, type CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/require-objects.ts'
import { hasDataUnderLock, hasData } from '../consistency/table-data.ts'
import { recordCommitted } from '../consistency/record-committed.ts'
import { resolvePoint, requirePoint } from '../consistency/table-point.ts'
import { writeRows } from '../consistency/write-rows.ts'

/**
 * Appends or replaces rows; creates the data of a declared table. Throws TableNotFound or TableBranchNotFound (404).
 */
export async function insertIntoTable(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'InsertIntoTable'>,
  upload: Uint8Array,
): Promise<ResponseOf<'InsertIntoTable'>> {
  if (request.upload_id !== undefined)
    throw new CatalogError('Unsupported', 'upload_id is not supported by this catalog')
  const table = await requireTable(context.database, id)
  const point = await resolvePoint(context, id, table, { branch: request.branch })
  const mode = request.mode === 'Append' ? 'append' : 'overwrite'
  // The engine resolves concurrent appends.
  if (mode === 'append' && (await hasData(context, table))) {
    return await writeRows(context, table.objectId, () => insert(context, point, upload, mode))
  }
  return await context.dataLock.runExclusive(table.objectId, async () =>
    (await hasDataUnderLock(context, table))
      ? await insert(context, point, upload, mode)
      : await createByInsert(context, table, upload),
  )
}

export async function countTableRows(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'CountTableRows'>,
): Promise<ResponseOf<'CountTableRows'>> {
  const { point } = await requirePoint(context, id, request)
  return await context.engine.count(point.location, { ...point, predicate: request.predicate })
}

/** Runs a query. Yields the bytes of one Arrow IPC file. */
export async function queryTable(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'QueryTable'>,
): Promise<AsyncIterable<Uint8Array>> {
  const { point } = await requirePoint(context, id, request)
  return await context.engine.query(point.location, request)
}

async function insert(
  context: CatalogContext,
  { location, branch }: TablePoint,
  upload: Uint8Array,
  mode: 'append' | 'overwrite',
): Promise<ResponseOf<'InsertIntoTable'>> {
  const { version, rows } = await context.engine.insert(location, upload, mode, branch)
  return { version, num_inserted_rows: rows }
}

/** Creates the data of a declared table. The caller holds the data lock. */
async function createByInsert(
  context: CatalogContext,
  table: TableEntry,
  upload: Uint8Array,
): Promise<ResponseOf<'InsertIntoTable'>> {
  const { version, rows } = await context.engine.create(tableLocation(context, table), upload, 'create')
  await recordCreated(context, table)
  return { version, num_inserted_rows: rows }
}

/** Records that a declared table has data now. */
export async function recordCreated(context: CatalogContext, table: TableEntry): Promise<void> {
  await recordCommitted(context, table, 'first rows of a table', () =>
    setTableState(context.database, table.objectId, 'ready'),
  )
}
