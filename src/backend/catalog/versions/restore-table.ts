import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requirePoint } from '../consistency/table-point.ts'

/**
 * Restores an old version as a new version of its branch. Throws TableNotFound, TableBranchNotFound or
 * TableVersionNotFound (404).
 */
export async function restoreTable(
  catalog: CatalogContext,
  id: Identifier,
  { branch, version }: RequestOf<'RestoreTable'>,
): Promise<ResponseOf<'RestoreTable'>> {
  const { table, point } = await requirePoint(catalog, id, { branch, version })
  await catalog.dataLock.runShared(table.objectId, () => catalog.engine.restore({ ...point, version }))
  return {}
}
