import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { formatIdentifierForMessage } from '../../../catalog-api/not-found.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import { findObject, fromPath, setProperties, type Properties, type TableEntry } from '../../store/objects.ts'
import { branchNotFoundError, normalizeBranch, mainBranch } from '../context/branches.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireTable } from '../context/lookup.ts'
import { createByInsert } from './insert-and-query.ts'
import { findData, hasData } from '../consistency/table-data.ts'
import { resolvePoint, requirePoint } from '../consistency/table-point.ts'

/**
 * Merges the rows of an Arrow IPC stream into a table. A declared table is created with all of the rows; if the merge
 * inserts nothing, the table does not exist (TableNotFound, 404).
 */
export async function mergeInsertIntoTable(
  catalog: CatalogContext,
  id: Identifier,
  request: RequestOf<'MergeInsertIntoTable'>,
  upload: Uint8Array,
): Promise<ResponseOf<'MergeInsertIntoTable'>> {
  const table = await requireTable(catalog.database, id)
  if (!(await hasData(catalog, table))) {
    const created = await createByMerge(catalog, id, table, request, upload)
    if (created !== undefined) return created
  }
  const point = await resolvePoint(catalog, id, table, request)
  const { version, inserted, updated, deleted } = await catalog.dataLock.runShared(table.objectId, () =>
    catalog.engine.rows.merge(point, upload, request),
  )
  return { version, num_inserted_rows: inserted, num_updated_rows: updated, num_deleted_rows: deleted }
}

/** Returns undefined if another request has created the data meanwhile. */
async function createByMerge(
  catalog: CatalogContext,
  id: Identifier,
  table: TableEntry,
  request: RequestOf<'MergeInsertIntoTable'>,
  upload: Uint8Array,
): Promise<ResponseOf<'MergeInsertIntoTable'> | undefined> {
  if (normalizeBranch(request.branch) !== mainBranch)
    throw branchNotFoundError(normalizeBranch(request.branch))
  if (!request.when_not_matched_insert_all) {
    throw new CatalogError(
      'TableNotFound',
      `the table ${formatIdentifierForMessage(id)} is declared but has no data yet, and the merge inserts none`,
    )
  }
  return await catalog.dataLock.runExclusive(table.objectId, async () => {
    if (await findData(catalog, table)) return undefined
    const inserted = await createByInsert(catalog, table, upload)
    return { ...inserted, num_updated_rows: 0, num_deleted_rows: 0 }
  })
}

/**
 * Sets columns to SQL expressions in the rows that the predicate selects. Properties of the request are added to those
 * of the table.
 */
export async function updateTable(
  catalog: CatalogContext,
  id: Identifier,
  request: RequestOf<'UpdateTable'>,
): Promise<ResponseOf<'UpdateTable'>> {
  const { table, point } = await requirePoint(catalog, id, { branch: request.branch })
  const { version, rows } = await catalog.dataLock.runShared(table.objectId, () =>
    catalog.engine.rows.update(point, request.predicate, request.updates),
  )
  const properties =
    request.properties === undefined
      ? table.properties
      : await addProperties(catalog, table, request.properties)
  return { version, updated_rows: rows, properties: { ...properties } }
}

async function addProperties(
  catalog: CatalogContext,
  table: TableEntry,
  added: Properties,
): Promise<Properties> {
  return await catalog.database.transaction().execute(async (database) => {
    const there = await findObject(database, fromPath(table.path))
    const isSame = there?.objectId === table.objectId
    const properties = { ...(isSame ? there.properties : table.properties), ...added }
    await setProperties(database, table.objectId, properties)
    return properties
  })
}

export async function deleteFromTable(
  catalog: CatalogContext,
  id: Identifier,
  { branch, predicate }: RequestOf<'DeleteFromTable'>,
): Promise<ResponseOf<'DeleteFromTable'>> {
  const { table, point } = await requirePoint(catalog, id, { branch })
  const { version, rows } = await catalog.dataLock.runShared(table.objectId, () =>
    catalog.engine.rows.delete(point, predicate),
  )
  return { version, num_deleted_rows: rows }
}
