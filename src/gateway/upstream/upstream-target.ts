import { buildTarget, type RouteMatch } from '../../catalog-api/request-target.ts'
import { assertNamesAccepted } from './assert-names-accepted.ts'
import type { Upstream } from './upstream.ts'

/**
 * Builds the request target for `upstream`. Throws InvalidInput (400) for an id that the upstream could misread.
 */
export function buildUpstreamTarget(upstream: Upstream, route: RouteMatch): string {
  assertNamesAccepted(route.id, upstream)
  return upstream.basePath + buildTarget(route, upstream.delimiter)
}
