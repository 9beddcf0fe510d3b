import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import type { Identifier } from '../../../catalog-api/identifiers.ts'
import { formatIdentifierForMessage } from '../../../catalog-api/not-found.ts'
import type { RequestOf, ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import { findObject, insertNamespace, setProperties } from '../../store/objects.ts'
import { hasChildren } from '../../store/remove-objects.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { namespaceAlreadyExistsError, requireNamespace } from '../context/lookup.ts'

/**
 * Creates a namespace under a parent that is there. ExistOk answers the one that is there, as it is. Overwrite
 * makes it anew with the properties of the request, but never throws away what lies in it: that is
 * NamespaceNotEmpty (409), and DropNamespace with Cascade is the way.
 */
export async function createNamespace(
  catalog: CatalogContext,
  id: Identifier,
  request: RequestOf<'CreateNamespace'>,
): Promise<ResponseOf<'CreateNamespace'>> {
  const properties = request.properties ?? {}
  if (id.length === 0) throw namespaceAlreadyExistsError(id)
  return await catalog.database.transaction().execute(async (database) => {
    await requireNamespace(database, id.slice(0, -1))
    if (await insertNamespace(database, id, properties)) return { properties }
    const there = await findObject(database, id)
    if (there?.kind !== 'namespace' || request.mode === 'Create') throw namespaceAlreadyExistsError(id)
    if (request.mode === 'ExistOk') return { properties: { ...there.properties } }
    if (await hasChildren(database, there.path)) throw namespaceNotEmptyError(id)
    await setProperties(database, there.objectId, properties)
    return { properties }
  })
}

function namespaceNotEmptyError(id: Identifier): CatalogError {
  return new CatalogError(
    'NamespaceNotEmpty',
    `the namespace ${formatIdentifierForMessage(id)} is not empty; drop it with behavior Cascade first`,
  )
}
