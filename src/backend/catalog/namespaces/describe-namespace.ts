import type { Identifier, ResponseOf } from 'catalog-gateway/catalog-api'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireNamespace } from '../context/require-objects.ts'

/** Returns the properties of a namespace; the root has none. Throws NamespaceNotFound (404). */
export async function describeNamespace(
  context: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DescribeNamespace'>> {
  const namespace = await requireNamespace(context.database, id)
  return { properties: { ...namespace.properties } }
}
