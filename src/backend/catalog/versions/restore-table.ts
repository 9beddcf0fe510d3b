import type { Identifier, RequestOf, ResponseOf } from 'catalog-gateway/catalog-api'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requirePoint } from '../consistency/table-point.ts'
import { writeRows } from '../consistency/write-rows.ts'

/** Adds a new version with the old content. Throws TableNotFound, TableBranchNotFound or TableVersionNotFound (404). */
export async function restoreTable(
  context: CatalogContext,
  id: Identifier,
  { branch, version }: RequestOf<'RestoreTable'>,
): Promise<ResponseOf<'RestoreTable'>> {
  const { table, point } = await requirePoint(context, id, { branch, version })
  await writeRows(context, table.objectId, () => context.engine.restore({ ...point, version }))
  return {}
}
