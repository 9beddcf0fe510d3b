import type { RouteMatch } from '../../catalog-api/request-target.ts'
import { otherNamespaces } from '../../config/metrics-settings.ts'

/**
 * Maps the namespace of a request to a label value: a name of the configured list, or `other`, so that callers cannot
 * create series. Undefined without a list: metrics then have no such label.
 */
export function createNamespaceLabeler(
  names: readonly string[] | undefined,
): ((route: RouteMatch | undefined) => string) | undefined {
  if (names === undefined) return undefined
  const known = new Set(names)
  return (route) => {
    if (route === undefined) return otherNamespaces
    const { operation, id } = route
    const [first] = id
    // The id of a table in the root namespace begins with the name of the table.
    const isNamespace = operation.object === 'namespace' || id.length > 1
    return isNamespace && first !== undefined && known.has(first) ? first : otherNamespaces
  }
}
