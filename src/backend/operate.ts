import type { FastifyRequest } from 'fastify'
import { InterfaceError } from '../interface/errors.ts'
import type { Target } from '../interface/target.ts'
import type { CatalogParts } from './catalog/catalog-parts.ts'
import type { BackendSettings } from './configuration.ts'
import type { Dialect } from './dialects/lancedb.ts'
import { handlers } from './handlers.ts'
import { readBody, withUpload, type UploadMemory } from './request-body.ts'
import { checkRoute, mergeMembers, parseMembers, readMap, type Members } from './request-members.ts'

/** What operations need besides the request. */
export interface OperationParts {
  readonly catalog: CatalogParts
  readonly limits: BackendSettings['limits']
  readonly uploads: UploadMemory
}

const noUpload = new Uint8Array()

/**
 * Receives the body of a request and lets the operation answer it, as its handler promises. Throws InterfaceError:
 * Unsupported (406) for an operation that this catalog has not, InvalidInput (400) for a body that is not what the
 * operation takes, and what the operation throws.
 */
export async function operate(
  { catalog, limits, uploads }: OperationParts,
  request: FastifyRequest,
  target: Target,
  dialect: Dialect,
): Promise<unknown> {
  const { operation, id, indexName = '', delimiter } = target
  const handler = handlers[operation.name]
  if (handler === undefined) {
    throw new InterfaceError('Unsupported', `this catalog does not have the operation ${operation.name}`)
  }
  const call = async (sent: Members, upload: Uint8Array): Promise<unknown> => {
    const members = dialect.readMembers(
      operation.name,
      mergeMembers(target, sent, request.headers),
      request.headers,
    )
    const parts = { id, indexName, delimiter, members, upload, schemaDialect: dialect.schemas }
    return dialect.writeAnswer(operation.name, await handler(catalog, parts))
  }
  if (operation.body === 'arrow') {
    return await withUpload(request.raw, limits.uploadBytes, uploads, (upload) => call({}, upload))
  }
  const body = parseMembers(await readBody(request.raw, limits.jsonBytes))
  const members = operation.body === 'map' ? readMap(target, body) : body
  checkRoute(target, members)
  return await call(members, noUpload)
}
