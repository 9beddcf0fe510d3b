import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requirePoint } from '../consistency/table-point.ts'

/** Returns the size of a table: bytes, rows, indexes, and the distribution of rows over fragments. */
export async function getTableStats(
  catalog: CatalogContext,
  id: Identifier,
  { branch }: RequestOf<'GetTableStats'>,
): Promise<ResponseOf<'GetTableStats'>> {
  const { point } = await requirePoint(catalog, id, { branch })
  const { totalBytes, numRows, numIndices, fragmentStats } = await catalog.engine.measure(point)
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
}

/**
 * Merges the sent keys into the schema metadata and returns the result; null removes a key. Other keys stay, because
 * clients store data of their own there, such as embedding settings. The interface says "replace", but the engine's own
 * call and existing catalogs merge.
 */
export async function updateTableSchemaMetadata(
  catalog: CatalogContext,
  id: Identifier,
  { branch, metadata }: RequestOf<'UpdateTableSchemaMetadata'>,
): Promise<ResponseOf<'UpdateTableSchemaMetadata'>> {
  const { table, point } = await requirePoint(catalog, id, { branch })
  return await catalog.dataLock.runExclusive(table.objectId, async () => ({
    ...(await catalog.engine.changeMetadata(point, metadata)),
  }))
}
