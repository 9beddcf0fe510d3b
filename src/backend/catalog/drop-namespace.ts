import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import type { Identifier } from '../../interface/identifiers.ts'
import { namespaceNotFound, showIdentifier } from '../../interface/not-found.ts'
import type { RequestOf, ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import { findObject } from '../store/objects.ts'
import { hasChildren, removeNamespace } from '../store/removal.ts'
import type { CatalogParts } from './catalog-parts.ts'
import { deleteData } from './delete-data.ts'

/**
 * Drops a namespace: with Restrict only when nothing lies in it (else NamespaceNotEmpty, 409), with Cascade
 * together with all that lies below. One that is not there is NamespaceNotFound (404), or nothing with Skip.
 */
export async function dropNamespace(
  catalog: CatalogParts,
  id: Identifier,
  request: RequestOf<'DropNamespace'>,
): Promise<ResponseOf<'DropNamespace'>> {
  if (id.length === 0) throw invalidInput('the root namespace cannot be dropped')
  const dropped = await catalog.database.transaction().execute(async (database) => {
    const there = await findObject(database, id)
    if (there?.kind !== 'namespace') return undefined
    if (request.behavior === 'Restrict' && (await hasChildren(database, there.path))) {
      throw new InterfaceError(
        'NamespaceNotEmpty',
        `the namespace ${showIdentifier(id)} is not empty; empty it, or use behavior Cascade`,
      )
    }
    return { properties: { ...there.properties }, tables: await removeNamespace(database, there.path) }
  })
  if (dropped === undefined) {
    if (request.mode === 'Skip') return {}
    throw namespaceNotFound(id)
  }
  await deleteData(catalog, dropped.tables)
  return { properties: dropped.properties }
}
