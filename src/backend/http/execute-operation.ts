import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  assertArrowContentType,
  type BuiltInOperation,
  CatalogError,
  isArrowStreamType,
  type RouteMatch,
  headerDialects,
  invalidInput,
  type OperationName,
  quoteForMessage,
} from 'catalog-gateway/catalog-api'
import { operationSchemas } from '../schemas/operation-schemas.ts'
import { getMembers, isObject } from 'catalog-gateway/lib'
import type { z } from 'zod'
import { catalogOperations } from '../catalog/catalog-operations.ts'
import type { CatalogContext } from '../catalog/context.ts'
import type { CatalogCall, OperationRequest, RequestMembers } from '../catalog/operations.ts'
import type { ClientDialect } from './client-dialect.ts'
import type { BodyReader } from './request-body.ts'

/**
 * Reads the body, merges route, headers and body, and calls the catalog. Throws InvalidInput (400) for a body that
 * contradicts the route or that the operation does not accept, and the errors of the operation.
 */
export async function executeOperation(
  catalog: CatalogContext,
  bodies: BodyReader,
  request: IncomingMessage,
  route: RouteMatch<BuiltInOperation>,
  dialect: ClientDialect | undefined,
): Promise<unknown> {
  const { operation, id, indexName = '', delimiter } = route
  const { headers } = request
  const isSchemaUpload = operation.alsoArrowSchema && isArrowStreamType(headers['content-type'] ?? '')
  const isUpload = operation.body === 'arrow' || isSchemaUpload
  if (operation.body === 'arrow') assertArrowContentType(headers['content-type'])
  const members = isUpload ? {} : parseMembers(route, await bodies.readJson(request))
  const merged = mergeMembers(route, members, headers)
  const sent = dialect?.readMembers(operation.name, merged, headers) ?? merged
  const parsed = isSchemaUpload ? sent : parseRequest(operation.name, sent)
  const name = dialect?.servingOperation(operation.name) ?? operation.name
  const schemaDialect = dialect?.schemaDialect ?? 'namespace'
  const run = (upload?: Uint8Array): Promise<unknown> =>
    execute(catalog, name, { id, indexName, delimiter, request: parsed, upload, schemaDialect })
  const result = await (isUpload ? bodies.withUpload(request, run) : run())
  return dialect ? dialect.writeResponse(operation.name, result) : result
}

async function execute<Name extends OperationName>(
  catalog: CatalogContext,
  name: Name,
  call: CatalogCall<Name>,
): Promise<unknown> {
  const operation = catalogOperations[name]
  if (operation !== undefined) return await operation(catalog, call)
  throw new CatalogError('Unsupported', `this catalog does not support the operation ${name}`)
}

/** That of the gateway. Schemas and the engine follow what is nested by recursion. */
const maxDepth = 64
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses the JSON body of a request and checks it against the route. An empty body and `null` have no members, except
 * for UpdateTableSchemaMetadata: its body is the data itself, and an empty one was truncated. Throws InvalidInput (400)
 * for anything but a JSON object, and for a body that names another object than the route.
 */
function parseMembers({ operation, id, indexName }: RouteMatch, bytes: Uint8Array): RequestMembers {
  const isMap = operation.body === 'map'
  const members = parseJson(bytes) ?? (isMap ? undefined : {})
  if (!isObject(members)) throw invalidInput('expected a JSON object as the body')
  // Some clients wrap the map as in other requests; an object reveals that, because the values of a map are strings.
  if (isMap && !isObject(members['metadata'])) return { metadata: members }
  const expected = { id, index_name: indexName }
  for (const name of isMap ? (['id'] as const) : operation.routeMembers) {
    assertSame(name, members[name], expected[name])
  }
  assertSame('query.id', getMembers(members['query'])['id'], id)
  return members
}

function parseJson(bytes: Uint8Array): unknown {
  let value: unknown
  try {
    const text = decoder.decode(bytes)
    if (text.trim() === '') return null
    value = JSON.parse(text)
  } catch {
    throw invalidInput('the body is not valid JSON in UTF-8')
  }
  if (isShallow(value, maxDepth)) return value
  throw invalidInput(`the body is nested too deeply: expected at most ${maxDepth} levels`)
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1))
}

/** An absent or null member matches any route; `[]` is the root. */
function assertSame(name: string, sent: unknown, expected: unknown): void {
  if (sent === undefined || sent === null || JSON.stringify(sent) === JSON.stringify(expected)) return
  throw invalidInput(`the ${quoteForMessage(name)} in the body differs from the one in the route`)
}

/** Adds query parameters, and headers of CreateTable. Throws InvalidInput (400) for contradicting values. */
function mergeMembers(
  { operation, parameters }: RouteMatch,
  members: RequestMembers,
  headers: IncomingHttpHeaders,
): RequestMembers {
  if (parameters.size === 0 && operation.name !== 'CreateTable') return members
  const merged: Record<string, unknown> = { ...members }
  const add = (name: string, value: unknown): void => {
    if ((merged[name] ?? value) !== value) {
      throw invalidInput(`conflicting values of ${quoteForMessage(name)}`)
    }
    merged[name] = value
  }
  for (const [name, text] of parameters) add(name, parseParameter(operation.query.get(name), text))
  if (operation.name === 'CreateTable') {
    for (const { properties, location } of Object.values(headerDialects)) {
      if (headers[properties] !== undefined) add('properties', headers[properties])
      if (headers[location] !== undefined) add('location', headers[location])
    }
  }
  return merged
}

/** Throws InvalidInput (400) that names the first invalid or missing member. */
function parseRequest(name: OperationName, members: RequestMembers): OperationRequest<OperationName> {
  const parsed = operationSchemas[name].request.safeParse(members)
  if (parsed.success) return parsed.data
  const { path = [], message = 'unexpected value' } = parsed.error.issues.map(findDeepestIssue)[0] ?? {}
  // Then the message names the members: a request in several forms, or members that exclude each other.
  if (path.length === 0) throw invalidInput(`invalid request: ${message}`)
  const member = path.map(String).join('.')
  throw invalidInput(`invalid member ${quoteForMessage(member)} of the request: ${message}`)
}

/** A value in several forms is meant in the form that explains most of it. Without one, the issue lists the forms. */
function findDeepestIssue(issue: z.core.$ZodIssue): Pick<z.core.$ZodIssue, 'path' | 'message'> {
  if (issue.code !== 'invalid_union') return issue
  // At a depth of one, the member may be missing just because the value has another form.
  const deepest = issue.errors
    .flatMap(([first]) => (first === undefined ? [] : [findDeepestIssue(first)]))
    .filter(({ path }) => path.length > 1)
    .toSorted((one, other) => other.path.length - one.path.length)[0]
  return deepest ? { path: [...issue.path, ...deepest.path], message: deepest.message } : issue
}

function parseParameter(type: string | undefined, text: string | readonly string[]): unknown {
  if (type === 'integer') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}
