import type { Identifier } from '../../interface/identifiers.ts'
import type { ResponseOf } from '../../interface/schemas/operation-schemas.ts'
import type { CatalogContext } from './catalog-parts.ts'
import { requireNamespace } from './lookup.ts'

/** The properties of a namespace; the root has none. Throws NamespaceNotFound (404). */
export async function describeNamespace(
  catalog: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DescribeNamespace'>> {
  const namespace = await requireNamespace(catalog.database, id)
  return { properties: { ...namespace.properties } }
}
