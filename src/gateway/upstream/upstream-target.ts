import { buildTarget, type RouteMatch } from '../../catalog-api/request-target.ts'
import { assertNamesAccepted } from './assert-names-accepted.ts'
import type { Upstream } from './upstream.ts'

/**
 * Builds the request target for `upstream`, without extra parameters that it does not accept: a listing is read from
 * several upstreams. Throws InvalidInput (400) for an id that the upstream could misread.
 */
export function buildUpstreamTarget(upstream: Upstream, route: RouteMatch): string {
  assertNamesAccepted(route.id, upstream)
  const { basePath, delimiter, allowedQueryParameters } = upstream
  if (route.extraParameters === undefined) return basePath + buildTarget(route, delimiter)
  const accepted = [...route.extraParameters].filter(([name]) => allowedQueryParameters.has(name))
  return basePath + buildTarget({ ...route, extraParameters: new Map(accepted) }, delimiter)
}
