import { assertSeparable } from '../../catalog-api/identifiers.ts'
import { buildTarget, type RouteMatch } from '../../catalog-api/request-target.ts'
import type { Upstream } from './upstream.ts'

/** The request target for `upstream`. Throws InvalidInput (400) if the upstream could take the id for another. */
export function buildUpstreamTarget(
  { basePath, delimiter, separators }: Upstream,
  route: RouteMatch,
): string {
  assertSeparable(route.id, separators)
  return basePath + buildTarget(route, delimiter)
}
