import { getNamespaceDepth } from '../../catalog-api/object-kinds.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import { otherNamespaces } from '../../config/metrics-settings.ts'

/**
 * Namespaces outside of the configured list are `other`, so that callers cannot create series. Undefined without a
 * list.
 */
export function createNamespaceLabeler(
  names: readonly string[] | undefined,
): ((route: RouteMatch | undefined) => string) | undefined {
  if (names === undefined) return undefined
  const known = new Set(names)
  return (route) => {
    if (route === undefined) return otherNamespaces
    const { operation, id } = route
    // The id of a table in the root namespace begins with the name of the table.
    const first = getNamespaceDepth(operation.object, id) > 0 ? id[0] : undefined
    return first !== undefined && known.has(first) ? first : otherNamespaces
  }
}
