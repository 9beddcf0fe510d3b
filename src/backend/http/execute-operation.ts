import type { FastifyRequest } from 'fastify'
import {
  assertArrowContentType,
  type BuiltInOperation,
  isArrowStreamType,
  type RouteMatch,
} from 'catalog-gateway/catalog-api'
import type { CatalogCaller, Catalog, RequestMembers } from '../contract/catalog.ts'
import type { ClientDialect } from './client-dialect.ts'
import { openUpload, readBody } from './request-body.ts'
import { readCaller } from './request-caller.ts'
import { mergeMembers, parseMembers, parseRequest } from './request-members.ts'

export interface OperationContext {
  readonly catalog: Catalog
  readonly maxJsonBytes: number
  /** Whether the authorization header authenticates to this server itself. */
  readonly hasAccessToken: boolean
}

type RequestConnection = Pick<CatalogCaller, 'requestId' | 'signal'>

/**
 * Reads the body, merges route, headers and body, and calls the catalog. Throws InvalidInput (400) for a body that
 * contradicts the route or that the operation does not accept, and the errors of the operation.
 */
export async function executeOperation(
  { catalog, maxJsonBytes, hasAccessToken }: OperationContext,
  request: FastifyRequest,
  route: RouteMatch<BuiltInOperation>,
  dialect: ClientDialect,
  connection: RequestConnection,
): Promise<unknown> {
  const { operation, id, alias, indexName = '', delimiter } = route
  const { headers } = request
  const body = openUpload(request.raw)
  const isSchemaUpload = operation.alsoArrowSchema && isArrowStreamType(headers['content-type'] ?? '')
  const isUpload = operation.body === 'arrow' || isSchemaUpload
  if (operation.body === 'arrow') assertArrowContentType(headers['content-type'])
  const members = isUpload
    ? {}
    : parseMembers(route, await readBody(body, { setting: 'maxJsonBytes', maxBytes: maxJsonBytes }))
  const merged = mergeMembers(route, members, headers)
  const caller = { ...connection, ...readCaller(headers, merged, hasAccessToken) }
  const sentMembers = dialect.readMembers(operation.name, omitEnvelope(merged), headers)
  const call = {
    id,
    alias,
    indexName,
    delimiter,
    request: isSchemaUpload ? {} : parseRequest(operation.name, sentMembers),
    sentMembers,
    upload: isUpload ? body : undefined,
    schemaDialect: dialect.schemaDialect,
    caller,
  }
  const result = await catalog.execute(dialect.servingOperation(operation.name), call)
  return dialect.writeResponse(operation.name, result)
}

/** The envelope is already part of the call. */
function omitEnvelope(members: RequestMembers): RequestMembers {
  const { id: _id, index_name: _indexName, identity: _identity, context: _context, ...own } = members
  return own
}
