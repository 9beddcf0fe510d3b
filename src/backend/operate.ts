import type { FastifyRequest } from 'fastify'
import type { OperationName } from '../interface/operations.ts'
import type { Target } from '../interface/target.ts'
import type { Call, Caller, Catalog, Members } from './catalog.ts'
import type { Dialect } from './dialects/lancedb.ts'
import { openBody, readWhole } from './request-body.ts'
import { readCaller } from './request-caller.ts'
import { mergeMembers, readMembers, readRequest } from './request-members.ts'

/** What operations need besides the request. */
export interface OperationParts {
  readonly catalog: Catalog
  /** The largest JSON body. */
  readonly jsonBytes: number
  /** Whether the authorization header is for this server itself. */
  readonly isGuarded: boolean
}

/** What is known of the caller before the body is read. */
type Connection = Pick<Caller, 'requestId' | 'signal'>

/** A method whose operation turns up only with the request. */
type Method = (call: Call<OperationName>) => Promise<unknown>

/**
 * Receives the body of a request, merges what route, headers and body say, and has the catalog answer. An Arrow body
 * is handed on as it comes. Throws InterfaceError: InvalidInput (400) for a body that contradicts the route, or that
 * is not what the operation takes, and what the operation throws.
 */
export async function operate(
  { catalog, jsonBytes, isGuarded }: OperationParts,
  request: FastifyRequest,
  target: Target,
  dialect: Dialect,
  connection: Connection,
): Promise<unknown> {
  const { operation, id, indexName = '', delimiter } = target
  const { headers } = request
  const body = openBody(request.raw)
  const isUpload = operation.body === 'arrow'
  const members = isUpload ? {} : readMembers(target, await readWhole(body, jsonBytes))
  const merged = mergeMembers(target, members, headers)
  const caller = { ...connection, ...readCaller(headers, merged, isGuarded) }
  const sent = dialect.readMembers(operation.name, withoutEnvelope(merged), headers)
  const call = {
    id,
    indexName,
    delimiter,
    request: readRequest(operation.name, sent),
    sent,
    upload: isUpload ? body : undefined,
    schemaDialect: dialect.schemas,
    caller,
  }
  // The compiler does not follow the name from the operation to the types of its method.
  const method = catalog[operation.name] as Method
  return dialect.writeAnswer(operation.name, await method(call))
}

/** What has gone into the call itself. */
function withoutEnvelope(members: Members): Members {
  const { id: _id, index_name: _indexName, identity: _identity, context: _context, ...own } = members
  return own
}
