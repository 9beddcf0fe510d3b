import { InterfaceError } from '../../interface/errors.ts'
import type { Identifier } from '../../interface/identifiers.ts'
import { showIdentifier } from '../../interface/not-found.ts'
import type { RequestOf, ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import { findObject, insertNamespace, setProperties } from '../store/objects.ts'
import { hasChildren } from '../store/removal.ts'
import type { CatalogParts } from './catalog-parts.ts'
import { namespaceAlreadyExists, requireNamespace } from './lookup.ts'

/**
 * Creates a namespace under a parent that is there. ExistOk answers the one that is there, as it is. Overwrite
 * makes it anew with the properties of the request, but never throws away what lies in it: that is
 * NamespaceNotEmpty (409), and DropNamespace with Cascade is the way.
 */
export async function createNamespace(
  catalog: CatalogParts,
  id: Identifier,
  request: RequestOf<'CreateNamespace'>,
): Promise<ResponseOf<'CreateNamespace'>> {
  const properties = request.properties ?? {}
  if (id.length === 0) throw namespaceAlreadyExists(id)
  return await catalog.database.transaction().execute(async (database) => {
    await requireNamespace(database, id.slice(0, -1))
    if (await insertNamespace(database, id, properties)) return { properties }
    const there = await findObject(database, id)
    if (there?.kind !== 'namespace' || request.mode === 'Create') throw namespaceAlreadyExists(id)
    if (request.mode === 'ExistOk') return { properties: { ...there.properties } }
    if (await hasChildren(database, there.path)) throw notEmpty(id)
    await setProperties(database, there.objectId, properties)
    return { properties }
  })
}

function notEmpty(id: Identifier): InterfaceError {
  return new InterfaceError(
    'NamespaceNotEmpty',
    `the namespace ${showIdentifier(id)} is not empty; drop it with behavior Cascade first`,
  )
}
