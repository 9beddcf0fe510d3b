import { LRUCache } from 'lru-cache'
import {
  assertFactSource,
  assertName,
  createRouteTable,
  headerDialects,
  type Identifier,
  parseTargetIn,
  placeInDatabase,
  quoteForMessage,
  refusal,
} from '../../catalog-api/index.ts'
import { hasHeader } from '../../lib/index.ts'
import { advance, type Matched, type Received } from '../context.ts'
import type { GatewaySettings } from '../../config/index.ts'
import { buildUpstreamTarget } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'

type FoundRoute = Pick<Matched, 'route' | 'database' | 'routeUpstream' | 'routeTarget'>

/**
 * Finds the route of a method, a request target and the database that a client of LanceDB names. Throws CatalogError
 * (400, 404, 405, 406).
 */
export type FindRoute = (method: string, target: string, database?: string) => FoundRoute

const maxCachedRoutes = 4_096
/** In characters. Longer targets are rare, and would let callers fill the memory. */
const maxCachedTargetLength = 512

/**
 * Stage 2: finds the operation and the id by the operations table alone, and the upstream by the id. Throws
 * CatalogError (400, 404, 405, 406).
 */
export function match(request: Received, findRoute: FindRoute): Matched {
  const { method, target, database, hasBody, headers } = request.head
  const found = findRoute(method, target, database)
  const { operation } = found.route
  if (hasBody && method !== 'POST') {
    throw refusal('unexpected_body', `unexpected body in a ${method} request for ${operation.name}`)
  }
  for (const name of ['location', 'properties'] as const)
    if (hasHeader(headers, headerDialects.catalog[name])) assertFactSource(operation, 'header', name)
  return advance(request, found)
}

/** The database that stands for the root, unless the upstream of the root has a database. */
const usualRootDatabase = 'any'

const root: Identifier = []

/**
 * Creates the finder of the routes below `basePath`. A query parameter that only another upstream accepts, and an extra
 * operation that only another one has, is refused when the upstream is certain (`findSoleUpstream`).
 */
export function createRouteFinder(
  upstreams: Upstreams,
  basePath: string,
  databases: GatewaySettings['databases'],
): FindRoute {
  const routes = createRouteTable(upstreams.extraOperations)
  const { database: ofUpstream } = upstreams.root
  const rootDatabase = ofUpstream ?? usualRootDatabase

  /** Finds the namespace that a database stands for; the root for requests without one. */
  function findDatabase(database: string | undefined): Identifier {
    if (database === undefined || database === rootDatabase) return root
    if (databases === 'namespaces') return [assertDatabaseName(database)]
    const expected = ofUpstream === undefined ? `"${usualRootDatabase}"` : 'that of the upstream'
    throw refusal(
      'wrong_database',
      `the database ${quoteForMessage(database)} is not served; expected ${expected}, or the setting databases: namespaces`,
    )
  }

  return (method, target, named) => {
    const database = findDatabase(named)
    const route = placeInDatabase(parseTargetIn(routes, method, target, basePath), database)
    const [first] = route.id
    // Clients of this database would find the root in place of the namespace.
    if (databases === 'namespaces' && first !== undefined && first === rootDatabase) {
      throw refusal(
        'invalid_id',
        `${quoteForMessage(first)} is the database of the root for clients of LanceDB; expected another name for a namespace or a table of the root`,
      )
    }
    const routeUpstream = upstreams.forId(route.id)
    return { route, database, routeUpstream, routeTarget: buildUpstreamTarget(routeUpstream, route) }
  }
}

/** Caches found routes: clients repeat targets, and parsing one takes 2 us. */
export function cacheRoutes(find: FindRoute): FindRoute {
  const caches = new Map(
    ['GET', 'HEAD', 'POST'].map((method) => [
      method,
      new LRUCache<string, FoundRoute>({ max: maxCachedRoutes }),
    ]),
  )
  return (method, target, database) => {
    const cache = caches.get(method)
    // No target contains a space.
    const key = database === undefined ? target : `${target} ${database}`
    const cached = cache?.get(key)
    if (cached !== undefined) return cached
    if (cache === undefined || key.length > maxCachedTargetLength) return find(method, target, database)
    const found = find(method, copyText(target), database && copyText(database))
    cache.set(copyText(key), found)
    return found
  }
}

/** A substring retains the whole head in memory, secrets included; a copy does not. */
function copyText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** A prefix follows a slash. LanceDB's clients accept ASCII only; readers decode other bytes differently. */
function assertDatabaseName(database: string): string {
  if (database.includes('/')) {
    throw refusal(
      'wrong_database',
      `the database ${quoteForMessage(database)} has a prefix; expected one name, and ids of namespaces in it`,
    )
  }
  if (!/^[\x20-\x7e]*$/.test(database))
    throw refusal('wrong_database', `the database ${quoteForMessage(database)} is not ASCII`)
  assertName(database, 'the database')
  return database
}
