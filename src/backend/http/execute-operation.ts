import type { FastifyRequest } from 'fastify'
import type { OperationName } from '../../catalog-api/operations.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import type { CatalogCall, CatalogCaller, Catalog, RequestMembers } from '../contract/catalog.ts'
import type { ClientDialect } from '../dialects/lancedb.ts'
import { openUpload, readBody } from './request-body.ts'
import { readCaller } from './request-caller.ts'
import { mergeMembers, parseMembers, parseRequest } from './request-members.ts'

/** What operations need besides the request. */
export interface OperationContext {
  readonly catalog: Catalog
  /** The largest JSON body. */
  readonly maxJsonBytes: number
  /** Whether the authorization header is for this server itself. */
  readonly hasAccessToken: boolean
}

/** What is known of the caller before the body is read. */
type RequestConnection = Pick<CatalogCaller, 'requestId' | 'signal'>

/** A method whose operation turns up only with the request. */
type CatalogMethod = (call: CatalogCall<OperationName>) => Promise<unknown>

/**
 * Receives the body of a request, merges what route, headers and body say, and has the catalog answer. An Arrow body
 * is handed on as it comes. Throws InterfaceError: InvalidInput (400) for a body that contradicts the route, or that
 * is not what the operation takes, and what the operation throws.
 */
export async function executeOperation(
  { catalog, maxJsonBytes, hasAccessToken }: OperationContext,
  request: FastifyRequest,
  target: RouteMatch,
  dialect: ClientDialect,
  connection: RequestConnection,
): Promise<unknown> {
  const { operation, id, indexName = '', delimiter } = target
  const { headers } = request
  const body = openUpload(request.raw)
  const isUpload = operation.body === 'arrow'
  const members = isUpload ? {} : parseMembers(target, await readBody(body, maxJsonBytes))
  const merged = mergeMembers(target, members, headers)
  const caller = { ...connection, ...readCaller(headers, merged, hasAccessToken) }
  const sent = dialect.readMembers(operation.name, omitEnvelope(merged), headers)
  const call = {
    id,
    indexName,
    delimiter,
    request: parseRequest(operation.name, sent),
    sentMembers: sent,
    upload: isUpload ? body : undefined,
    schemaDialect: dialect.schemaDialect,
    caller,
  }
  // The compiler does not follow the name from the operation to the types of its method.
  const method = catalog[operation.name] as CatalogMethod
  return dialect.writeResponse(operation.name, await method(call))
}

/** What has gone into the call itself. */
function omitEnvelope(members: RequestMembers): RequestMembers {
  const { id: _id, index_name: _indexName, identity: _identity, context: _context, ...own } = members
  return own
}
