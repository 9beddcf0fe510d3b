import type { Identifier, RequestOf, ResponseOf } from 'catalog-gateway/catalog-api'
import { listViewNames } from '../../database/listings.ts'
import { findTableById, fromPath } from '../../database/objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireNamespace } from '../context/require-objects.ts'
import { pageTokenMember, toPage, toSlice } from '../namespaces/listings.ts'
import { dropTable } from '../tables/drop-table.ts'
import { requireView } from './require-view.ts'

/** The source has its current name, or its last one if it was dropped. Throws TableNotFound (404). */
export async function describeMaterializedView(
  context: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DescribeMaterializedView'>> {
  const { table, view } = await requireView(context.database, id)
  const { columns, filter, limit } = view.selection
  const source = await findTableById(context.database, view.sourceObjectId)
  const sourceId = fromPath(source?.path ?? view.sourcePath)
  return {
    query: view.query,
    source_table: sourceId.at(-1) ?? '',
    source_namespace: sourceId.slice(0, -1),
    projections: columns.map(([name, expression]) => ({ output_column: name, expression })),
    ...(filter !== undefined && { filter }),
    ...(limit !== undefined && { limit }),
    incarnation: table.objectId,
  }
}

/** Drops a view with its rows; its source stays. Throws TableNotFound (404), also for a table that is no view. */
export async function dropMaterializedView(
  context: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DropMaterializedView'>> {
  await requireView(context.database, id)
  await dropTable(context, id)
  return {}
}

/** Lists the names of the views directly in a namespace in the byte order of UTF-8. The token is the last name. */
export async function listMaterializedViews(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'ListMaterializedViews'>,
): Promise<ResponseOf<'ListMaterializedViews'>> {
  const { path } = await requireNamespace(context.database, id)
  const slice = toSlice(request)
  const names = await listViewNames(context.database, path, slice)
  const { entries, token } = toPage(names, slice.after, request.limit)
  return { views: entries, ...pageTokenMember(token) }
}
