import type { Identifier, RequestOf, ResponseOf } from 'catalog-gateway/catalog-api'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requirePoint } from '../consistency/table-point.ts'

export async function getTableStats(
  context: CatalogContext,
  id: Identifier,
  { branch }: RequestOf<'GetTableStats'>,
): Promise<ResponseOf<'GetTableStats'>> {
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
}

/**
 * Merges the sent keys and returns the result; null removes a key. Other keys stay, because clients store their own
 * there. The API says "replace", but the engine's own call and existing catalogs merge.
 */
export async function updateTableSchemaMetadata(
  context: CatalogContext,
  id: Identifier,
  { branch, metadata }: RequestOf<'UpdateTableSchemaMetadata'>,
): Promise<ResponseOf<'UpdateTableSchemaMetadata'>> {
  const { table, point } = await requirePoint(context, id, { branch })
  return await context.dataLock.runExclusive(table.objectId, async () => ({
    ...(await context.engine.changeMetadata(point, metadata)),
  }))
}
