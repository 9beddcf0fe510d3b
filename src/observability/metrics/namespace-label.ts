import type { RouteMatch } from '../../catalog-api/request-target.ts'
import { otherNamespaces } from '../../config/metrics-settings.ts'

/**
 * Names the namespace of a request for the metrics: one of the list, which operators keep, or `other`. What callers
 * send makes no name of its own. Undefined where there is no list: metrics then have no such label.
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
    // The id of a table in the root namespace begins with its own name.
    const isNamespace = operation.object === 'namespace' || id.length > 1
    return isNamespace && first !== undefined && known.has(first) ? first : otherNamespaces
  }
}
