import { assertSeparable } from '../../catalog-api/identifiers.ts'
import { buildTarget, type RouteMatch } from '../../catalog-api/request-target.ts'
import type { Upstream } from './upstream.ts'

/**
 * Builds the request target for `upstream`, without extra parameters that it does not accept: a listing is read from
 * several upstreams. Throws InvalidInput (400) for an id that the upstream could misread.
 */
export function buildUpstreamTarget(upstream: Upstream, route: RouteMatch): string {
  assertSeparable(route.id, upstream.separators)
  const { basePath, delimiter, allowedQueryParameters } = upstream
  if (route.extraParameters === undefined) return basePath + buildTarget(route, delimiter)
  const accepted = [...route.extraParameters].filter(([name]) => allowedQueryParameters.has(name))
  return basePath + buildTarget({ ...route, extraParameters: new Map(accepted) }, delimiter)
}
