import type { Identifier } from '../../../catalog-api/identifiers.ts'
import type { ResponseOf } from '../../../catalog-api/schemas/operation-schemas.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireNamespace } from '../context/lookup.ts'

/** Returns the properties of a namespace; the root has none. Throws NamespaceNotFound (404). */
export async function describeNamespace(
  catalog: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DescribeNamespace'>> {
  const namespace = await requireNamespace(catalog.database, id)
  return { properties: { ...namespace.properties } }
}
