import { LRUCache } from 'lru-cache'
import { assertFactSource } from '../../catalog-api/decisive-members.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { parseTargetIn } from '../../catalog-api/request-target.ts'
import { createRouteTable } from '../../catalog-api/route-table.ts'
import { advance, type Matched, type Received } from '../context.ts'
import { buildUpstreamTarget } from '../upstream/upstream-target.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

type UpstreamRoute = Pick<Matched, 'route' | 'upstream' | 'upstreamTarget'>

/** Finds the route of a method and a request target. Throws CatalogError (400, 404, 405). */
export type FindRoute = (method: string, target: string) => UpstreamRoute

const maxCachedRoutes = 4_096
/** In characters. Longer targets are rare, and would let callers fill the memory. */
const maxCachedTargetLength = 512

/**
 * Stage 2: finds the operation and the id by the operations table alone, and the upstream by the id. Throws
 * CatalogError (400, 404, 405).
 */
export function match(request: Received, findRoute: FindRoute): Matched {
  const { method, target, hasBody, tableHeaders } = request.head
  const found = findRoute(method, target)
  const { operation } = found.route
  if (hasBody && method === 'GET') {
    throw refusal('unexpected_body', `unexpected body in a GET request for ${operation.name}`)
  }
  for (const name of tableHeaders) assertFactSource(operation, 'header', name)
  return advance(request, found)
}

/**
 * Creates the finder of the routes below `basePath`, which is empty if there is none. A query parameter that only
 * another upstream accepts, and an extra operation that only another one has, is refused when the upstream is certain
 * (`findSoleUpstream`).
 */
export function createRouteFinder(upstreams: Upstreams, basePath = ''): FindRoute {
  const allowedParameters = new Set(upstreams.all.flatMap((upstream) => [...upstream.allowedQueryParameters]))
  const routes = createRouteTable(upstreams.extraOperations)
  const options = { basePath, allowedParameters, quotes: upstreams.quotesInNames }
  return (method, target) => {
    const route = parseTargetIn(routes, method, target, options)
    const upstream = upstreams.forId(route.id)
    return { route, upstream, upstreamTarget: buildUpstreamTarget(upstream, route) }
  }
}

/** Caches found routes: clients repeat targets, and parsing one takes 2 us. */
export function cacheRoutes(find: FindRoute): FindRoute {
  const caches = new Map(
    ['GET', 'POST'].map((method) => [method, new LRUCache<string, UpstreamRoute>({ max: maxCachedRoutes })]),
  )
  return (method, target) => {
    const cache = caches.get(method)
    const cached = cache?.get(target)
    if (cached !== undefined) return cached
    if (cache === undefined || target.length > maxCachedTargetLength) return find(method, target)
    // A substring retains the whole head in memory, secrets included; a copy does not.
    const copy = Buffer.from(target, 'latin1').toString('latin1')
    const found = find(method, copy)
    cache.set(copy, found)
    return found
  }
}
