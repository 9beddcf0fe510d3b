import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
  namespaceNotFound,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import { findObject } from '../../database/objects.ts'
import { hasChildren, removeNamespace } from '../../database/remove-objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { deleteLeftovers } from '../context/delete-leftovers.ts'

/** Restrict refuses a non-empty namespace (409); Cascade also drops its content. Skip accepts a missing one. */
export async function dropNamespace(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'DropNamespace'>,
): Promise<ResponseOf<'DropNamespace'>> {
  if (id.length === 0) throw invalidInput('the root namespace cannot be dropped')
  const dropped = await context.database.transaction().execute(async (database) => {
    const existing = await findObject(database, id)
    if (existing?.kind !== 'namespace') return undefined
    if (request.behavior === 'Restrict' && (await hasChildren(database, existing.path))) {
      throw new CatalogError(
        'NamespaceNotEmpty',
        `the namespace ${formatIdentifierForMessage(id)} is not empty; empty it, or use behavior Cascade`,
      )
    }
    return { properties: { ...existing.properties }, tables: await removeNamespace(database, existing.path) }
  })
  if (dropped === undefined) {
    if (request.mode === 'Skip') return {}
    throw namespaceNotFound(id)
  }
  await deleteLeftovers(context, dropped.tables, 'runExclusive')
  return { properties: dropped.properties }
}
