import { CatalogError } from 'catalog-gateway/catalog-api'
import { type RequestOf } from '../schemas/operation-schemas.ts'
import { findTableById, updateObject, type Properties, type TableEntry } from '../database/objects.ts'
import { withoutRows } from '../engine/arrow/arrow-file.ts'
import { tableLocation, type CatalogContext } from './context.ts'
import { recordData } from './create-table.ts'
import {
  requireTable,
  hasDataUnderLock,
  hasData,
  noDataError,
  resolvePoint,
  requirePoint,
} from './find-table.ts'
import { recordCommitted } from './reconcile.ts'
import type { Operations } from './operations.ts'

export const rowOperations = {
  /**
   * Appends or replaces rows; creates the data of a declared table. Throws TableNotFound or TableBranchNotFound (404).
   */
  async InsertIntoTable(context, { id, request, upload }) {
    if (request.upload_id !== undefined)
      throw new CatalogError('Unsupported', 'upload_id is not supported by this catalog')
    const table = await requireTable(context.database, id)
    const point = await resolvePoint(context, table, { branch: request.branch })
    const mode = request.mode === 'Append' ? 'append' : 'overwrite'
    const insert = () => context.engine.insert(point.location, upload, mode, point.branch)
    // The engine resolves concurrent appends.
    const isShared = mode === 'append' && (await hasData(context, table))
    const { version, rows } = isShared
      ? await context.dataLock.runShared(table.objectId, insert)
      : await context.dataLock.runExclusive(table.objectId, async () => {
          if (await hasDataUnderLock(context, table)) return await insert()
          const created = await context.engine.create(point.location, upload, 'create')
          await recordData(context, table)
          return created
        })
    return { version, num_inserted_rows: rows }
  },

  async CountTableRows(context, { id, request }) {
    const { point } = await requirePoint(context, id, request)
    return await context.engine.count(point, request.predicate)
  },

  /** Runs a query. Yields the bytes of one Arrow IPC file. */
  async QueryTable(context, { id, request }) {
    const { point } = await requirePoint(context, id, request)
    return await context.engine.query(point, request)
  },

  async ExplainTableQueryPlan(context, { id, request: { branch, query, verbose } }) {
    const { point } = await requirePoint(context, id, { ...query, branch: query.branch || branch })
    return await context.engine.explain(point, query, verbose)
  },

  async AnalyzeTableQueryPlan(context, { id, request: { branch, query } }) {
    const { point } = await requirePoint(context, id, { ...query, branch: query.branch || branch })
    return await context.engine.analyze(point, query)
  },

  /** A declared table is created by the first merge; if that inserts nothing, it is TableNotFound (404). */
  async MergeInsertIntoTable(context, { id, request, upload }) {
    for (const member of ['use_rte', 'use_lsm'] as const) {
      if (request[member] === true)
        throw new CatalogError('Unsupported', `${member} is not supported by this catalog`)
    }
    const table = await requireTable(context.database, id)
    const point = await resolvePoint(context, table, request)
    const created = (await hasData(context, table))
      ? undefined
      : await createByMerge(context, table, request, upload)
    const { version, numInsertedRows, numUpdatedRows, numDeletedRows } =
      created ??
      (await context.dataLock.runShared(table.objectId, () => context.engine.merge(point, upload, request)))
    return {
      version,
      num_inserted_rows: numInsertedRows,
      num_updated_rows: numUpdatedRows,
      num_deleted_rows: numDeletedRows,
    }
  },

  /**
   * Properties of the request are added to those of the table. If the database fails after the rows were updated, the
   * response is a success without them.
   */
  async UpdateTable(context, { id, request }) {
    const { table, point } = await requirePoint(context, id, { branch: request.branch })
    const { version, rowsUpdated } = await context.dataLock.runShared(table.objectId, () =>
      context.engine.update(point, request.predicate, request.updates),
    )
    const properties = request.properties && (await addProperties(context, table, request.properties))
    return { version, updated_rows: rowsUpdated, properties: { ...(properties ?? table.properties) } }
  },

  async DeleteFromTable(context, { id, request: { branch, predicate } }) {
    const { table, point } = await requirePoint(context, id, { branch })
    const { version, numDeletedRows } = await context.dataLock.runShared(table.objectId, () =>
      context.engine.delete(point, predicate),
    )
    return { version, num_deleted_rows: numDeletedRows }
  },
} satisfies Operations

/**
 * Merges into an empty table, so that what every later merge refuses is refused by the first one. Returns undefined if another
 * request has created the data meanwhile.
 */
async function createByMerge(
  context: CatalogContext,
  table: TableEntry,
  request: RequestOf<'MergeInsertIntoTable'>,
  upload: Uint8Array,
) {
  if (!request.when_not_matched_insert_all) throw noDataError(table)
  return await context.dataLock.runExclusive(table.objectId, async () => {
    if (await hasDataUnderLock(context, table)) return undefined
    const point = { location: tableLocation(context, table) }
    await context.engine.create(point.location, withoutRows(upload), 'create')
    const merge = () => context.engine.merge(point, upload, request)
    try {
      const merged = await merge()
      // Keys that are there twice would make every later merge of them ambiguous.
      const { version } = request.when_matched_update_all ? await merge() : merged
      await recordData(context, table)
      return { ...merged, version }
    } catch (error) {
      await context.engine.drop(point.location)
      throw error
    }
  })
}

/** Returns undefined if they cannot be recorded. */
async function addProperties(
  context: CatalogContext,
  table: TableEntry,
  added: Properties,
): Promise<Properties | undefined> {
  return await recordCommitted(context, table, 'properties of an update', () =>
    context.transact(async (database) => {
      const { properties: existing } = (await findTableById(database, table.objectId)) ?? table
      const properties = { ...existing, ...added }
      await updateObject(database, table.objectId, { properties })
      return properties
    }),
  )
}
