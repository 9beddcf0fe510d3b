import {
  CatalogError,
  formatIdentifierForMessage,
  type Identifier,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import { findObject, insertNamespace, setProperties } from '../../database/objects.ts'
import { hasChildren } from '../../database/remove-objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { namespaceAlreadyExistsError, requireNamespace } from '../context/require-objects.ts'

/**
 * ExistOk returns an existing namespace unchanged. Overwrite replaces its properties but never deletes its content: a
 * non-empty namespace is NamespaceNotEmpty (409).
 */
export async function createNamespace(
  context: CatalogContext,
  id: Identifier,
  request: RequestOf<'CreateNamespace'>,
): Promise<ResponseOf<'CreateNamespace'>> {
  const properties = request.properties ?? {}
  if (id.length === 0) throw namespaceAlreadyExistsError(id)
  return await context.database.transaction().execute(async (database) => {
    await requireNamespace(database, id.slice(0, -1))
    if (await insertNamespace(database, id, properties)) return { properties }
    const existing = await findObject(database, id)
    if (existing?.kind !== 'namespace' || request.mode === 'Create') throw namespaceAlreadyExistsError(id)
    if (request.mode === 'ExistOk') return { properties: { ...existing.properties } }
    if (await hasChildren(database, existing.path)) throw namespaceNotEmptyError(id)
    await setProperties(database, existing.objectId, properties)
    return { properties }
  })
}

function namespaceNotEmptyError(id: Identifier): CatalogError {
  return new CatalogError(
    'NamespaceNotEmpty',
    `the namespace ${formatIdentifierForMessage(id)} is not empty; drop it with behavior Cascade first`,
  )
}
