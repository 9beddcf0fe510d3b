import { parseTarget } from '../../../src/catalog-api/request-target.ts'
import type { RequestHandler } from './recording-upstream.ts'

export interface ListedCatalog {
  /** By namespace id, its parts joined by `$`; the root is the empty text. */
  readonly namespaces?: Readonly<Record<string, readonly string[]>>
  readonly tables?: Readonly<Record<string, readonly string[]>>
  /** Views and materialized views. */
  readonly views?: Readonly<Record<string, readonly string[]>>
  /** Full ids, joined by `$`, for ListAllTables. */
  readonly allTables?: readonly string[]
  /** Whether it ignores the limit and sends everything at once. */
  readonly ignoresLimit?: true
}

/**
 * Lists names in the given order, in pages with tokens of its own. Namespaces without a list are missing. The response
 * to any other operation is `{}`.
 */
export function serveListings(catalog: ListedCatalog): RequestHandler {
  return (arrival, response) => {
    const { operation, id, parameters } = parseTarget(arrival.method, arrival.target)
    const path = id.join('$')
    if (operation.lists === undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      return
    }
    const member = operation.lists === 'all tables' ? 'tables' : operation.lists
    const names = operation.lists === 'all tables' ? catalog.allTables : catalog[member]?.[path]
    if (names === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: 'no such namespace', code: 1 }))
      return
    }
    const start = Number(/^row-(\d+)$/.exec(String(parameters.get('page_token') ?? 'row-0'))?.[1])
    const limit = catalog.ignoresLimit ? names.length : Number(parameters.get('limit') ?? names.length)
    const end = start + limit
    const next = end < names.length ? { page_token: `row-${end}` } : {}
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ [member]: names.slice(start, end), ...next }))
  }
}
