import type { FastifyRequest } from 'fastify'
import {
  assertArrowContentType,
  type BuiltInOperation,
  isArrowStreamType,
  type RouteMatch,
} from 'catalog-gateway/catalog-api'
import type { Catalog } from '../open-catalog.ts'
import type { ClientDialect } from './client-dialect.ts'
import { openUpload, readBody } from './request-body.ts'
import { mergeMembers, parseMembers, parseRequest } from './request-members.ts'

/**
 * Reads the body, merges route, headers and body, and calls the catalog. Throws InvalidInput (400) for a body that
 * contradicts the route or that the operation does not accept, and the errors of the operation.
 */
export async function executeOperation(
  catalog: Catalog,
  maxJsonBytes: number,
  request: FastifyRequest,
  route: RouteMatch<BuiltInOperation>,
  dialect: ClientDialect,
): Promise<unknown> {
  const { operation, id, indexName = '', delimiter } = route
  const { headers } = request
  const body = openUpload(request.raw)
  const isSchemaUpload = operation.alsoArrowSchema && isArrowStreamType(headers['content-type'] ?? '')
  const isUpload = operation.body === 'arrow' || isSchemaUpload
  if (operation.body === 'arrow') assertArrowContentType(headers['content-type'])
  const members = isUpload
    ? {}
    : parseMembers(route, await readBody(body, { setting: 'maxJsonBytes', maxBytes: maxJsonBytes }))
  const sent = dialect.readMembers(operation.name, mergeMembers(route, members, headers), headers)
  const call = {
    id,
    indexName,
    delimiter,
    request: isSchemaUpload ? sent : parseRequest(operation.name, sent),
    upload: isUpload ? body : undefined,
    schemaDialect: dialect.schemaDialect,
  }
  const result = await catalog.execute(dialect.servingOperation(operation.name), call)
  return dialect.writeResponse(operation.name, result)
}
