import { assertSeparable } from '../../catalog-api/identifiers.ts'
import { buildTarget, type RouteMatch } from '../../catalog-api/request-target.ts'
import type { Upstream } from './upstream.ts'

/**
 * Builds the request target for `upstream`. Throws InvalidInput (400) if the upstream could parse the id as another
 * one.
 */
export function buildUpstreamTarget(
  { basePath, delimiter, separators }: Upstream,
  route: RouteMatch,
): string {
  assertSeparable(route.id, separators)
  return basePath + buildTarget(route, delimiter)
}
