import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requirePoint } from '../consistency/table-point.ts'

/** How large a table is: bytes, rows, indexes, and how its rows are spread over fragments. */
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
 * Sets the keys of the metadata of the schema that are sent, and removes those that are sent as null; other keys
 * stay, for clients keep things of their own there, such as what they embed texts with. The interface speaks of
 * replacing, the engine's own call and the catalogs in use merge. Answers the metadata that there is then.
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
