import { type Identifier, assertIdentifier } from 'catalog-gateway/catalog-api'
import { type RequestOf, type ResponseOf } from '../schemas/operation-schemas.ts'
import { chooseLocation, findObject, insertObject, removeObject, updateObject } from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import { tableLocation, type CatalogContext } from './context.ts'
import { rejectLocation } from './create-table.ts'
import {
  requireNamespace,
  alreadyExistsError,
  requireTable,
  hasData,
  resolvePoint,
  requirePoint,
} from './find-table.ts'
import type { Operations } from './operations.ts'
import { deleteLeftovers } from './repair.ts'

export const tableOperations = {
  /** Throws TableAlreadyExists (409). */
  async DeclareTable(context, { id, request }) {
    return await context.transact((database) => declareInTransaction(context, database, id, request))
  },

  /**
   * Returns version, schema and statistics only with `load_detailed_metadata` and data. Clients that
   * open the table directly bring their own credentials. Throws TableNotFound (404), and like `resolvePoint`.
   */
  async DescribeTable(context, { id, request, schemaDialect: dialect }) {
    const table = await requireTable(context.database, id)
    const namesVersion = request.version !== undefined || request.tag !== undefined
    const needsDataState = request.load_detailed_metadata || request.check_declared || namesVersion
    const tableHasData = needsDataState && (await hasData(context, table))
    const point = await resolvePoint(context, table, request)
    const { location } = point
    const found =
      request.load_detailed_metadata && tableHasData ? await context.engine.describe(point) : undefined
    return {
      table: id.at(-1) ?? '',
      namespace: id.slice(0, -1),
      location,
      ...(request.with_table_uri ? { table_uri: context.storage.toUri(location) } : {}),
      ...(found && { ...found, schema: found.schema(dialect), metadata: { ...found.metadata } }),
      properties: { ...table.properties },
      managed_versioning: true,
      ...(request.check_declared ? { is_only_declared: !tableHasData } : {}),
    }
  },

  /** Throws TableNotFound, or like `resolvePoint` if the request names a point (404). */
  async TableExists(context, { id, request }) {
    const table = await requireTable(context.database, id)
    if (request.version !== undefined) await hasData(context, table)
    await resolvePoint(context, table, request)
  },

  /** The data does not move. Throws TableAlreadyExists (409), or NamespaceNotFound (404) for the new namespace. */
  async RenameTable(context, { id, request }) {
    const destination = assertIdentifier([
      ...(request.new_namespace_id ?? id.slice(0, -1)),
      request.new_table_name,
    ])
    await context.transact(async (database) => {
      const table = await requireTable(database, id)
      await requireNamespace(database, destination.slice(0, -1))
      if ((await findObject(database, destination)) !== undefined)
        throw alreadyExistsError('Table', destination)
      await updateObject(database, table.objectId, { id: destination })
    })
    return {}
  },

  /** Removes a table, then deletes its data with all versions. Throws TableNotFound (404). */
  async DropTable(context, { id }) {
    const { table, removed } = await context.transact(async (database) => {
      const table = await requireTable(database, id)
      return { table, removed: await removeObject(database, table.path) }
    })
    await deleteLeftovers(context, removed)
    return { id, location: tableLocation(context, table), properties: { ...table.properties } }
  },

  async GetTableStats(context, { id, request: { branch } }) {
    const { point } = await requirePoint(context, id, { branch })
    const { totalBytes, numRows, numIndices, fragmentStats } = await context.engine.measure(point)
    return {
      total_bytes: totalBytes,
      num_rows: numRows,
      num_indices: numIndices,
      fragment_stats: {
        num_fragments: fragmentStats.numFragments,
        num_small_fragments: fragmentStats.numSmallFragments,
        lengths: fragmentStats.lengths,
      },
    }
  },

  /**
   * Merges the sent keys and returns the result; null removes a key. Other keys stay, because clients store their own
   * there. The API says "replace", but the engine's own call and existing catalogs merge.
   */
  async UpdateTableSchemaMetadata(context, { id, request: { branch, metadata } }) {
    const { table, point } = await requirePoint(context, id, { branch })
    return await context.dataLock.runExclusive(table.objectId, async () => ({
      ...(await context.engine.changeMetadata(point, metadata)),
    }))
  },
} satisfies Operations

/** Declares a table in a transaction; see `DeclareTable`. */
export async function declareInTransaction(
  context: CatalogContext,
  database: CatalogDatabase,
  id: Identifier,
  request: RequestOf<'DeclareTable'>,
): Promise<ResponseOf<'DeclareTable'>> {
  rejectLocation(request)
  const properties = request.properties ?? {}
  await requireNamespace(database, id.slice(0, -1))
  const table = chooseLocation()
  if (!(await insertObject(database, id, properties, { ...table, state: 'declared' })))
    throw alreadyExistsError('Table', id)
  return { location: tableLocation(context, table), properties, managed_versioning: true }
}
