import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  assertArrowContentType,
  type BuiltInOperation,
  CatalogError,
  isArrowStreamType,
  type RouteMatch,
  headerDialects,
  type Identifier,
  invalidInput,
  isSameIdentifier,
  type OperationName,
  quoteForMessage,
} from 'catalog-gateway/catalog-api'
import { operationSchemas } from '../schemas/operation-schemas.ts'
import { isListOfStrings, isObject } from 'catalog-gateway/lib'
import type { z } from 'zod'
import { catalogOperations } from '../catalog/catalog-operations.ts'
import type { CatalogContext } from '../catalog/context.ts'
import type { CatalogCall, OperationRequest, RequestMembers } from '../catalog/operations.ts'
import type { ClientDialect } from './client-dialect.ts'
import type { BackendSettings } from '../settings/backend-settings.ts'
import { type MemoryBudget, readBody } from './request-body.ts'

/** How much of a request is read into memory, and the memory for the Arrow data of all of them. */
export interface BodyLimits extends Pick<BackendSettings['limits'], 'maxJsonBytes' | 'maxUploadBytes'> {
  readonly memory: MemoryBudget
}

/**
 * Reads the body, merges route, headers and body, and calls the catalog. Throws InvalidInput (400) for a body that
 * contradicts the route or that the operation does not accept, and the errors of the operation.
 */
export async function executeOperation(
  catalog: CatalogContext,
  { maxJsonBytes, maxUploadBytes, memory }: BodyLimits,
  request: IncomingMessage,
  route: RouteMatch<BuiltInOperation>,
  dialect: ClientDialect,
): Promise<unknown> {
  const { operation, id, indexName = '', delimiter } = route
  const { headers } = request
  const isSchemaUpload = operation.alsoArrowSchema && isArrowStreamType(headers['content-type'] ?? '')
  const isUpload = operation.body === 'arrow' || isSchemaUpload
  if (operation.body === 'arrow') assertArrowContentType(headers['content-type'])
  const members = isUpload
    ? {}
    : parseMembers(route, await readBody(request, { setting: 'maxJsonBytes', maxBytes: maxJsonBytes }))
  const sent = dialect.readMembers(operation.name, mergeMembers(route, members, headers), headers)
  const parsed = isSchemaUpload ? sent : parseRequest(operation.name, sent)
  const run = async (upload: Uint8Array | undefined): Promise<unknown> => {
    const call = { id, indexName, delimiter, request: parsed, upload, schemaDialect: dialect.schemaDialect }
    return await execute(catalog, dialect.servingOperation(operation.name), call)
  }
  const result = isUpload
    ? await memory.run(async (reserve) =>
        run(await readBody(request, { setting: 'maxUploadBytes', maxBytes: maxUploadBytes }, reserve)),
      )
    : await run(undefined)
  return dialect.writeResponse(operation.name, result)
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

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses the JSON body of a request and checks it against the route. An empty body and `null` have no members, except
 * for UpdateTableSchemaMetadata: its body is the data itself, and an empty one was truncated. Throws InvalidInput (400)
 * for anything but a JSON object, and for a body that names another object than the route.
 */
function parseMembers(route: RouteMatch, bytes: Uint8Array): RequestMembers {
  const value = parseJson(bytes)
  if (route.operation.body === 'map') return parseMapBody(route, value)
  if (value === null) return {}
  const members = assertObject(value)
  readIdentifier(members['id'], 'id')
  assertMatchesRoute(route, members, route.operation.routeMembers)
  const { query } = members
  if (isObject(query)) assertIdentifierMatches(query['id'], route.id, 'query.id')
  return members
}

function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return null
  try {
    const text = decoder.decode(bytes)
    return text.trim() === '' ? null : JSON.parse(text)
  } catch {
    throw invalidInput('the body is not valid JSON in UTF-8')
  }
}

function assertObject(value: unknown): RequestMembers {
  if (!isObject(value)) throw invalidInput('the body is JSON, but not an object')
  return value
}

/**
 * The map becomes the member `metadata`. Some clients wrap the map as in other requests; a member `metadata` that is an
 * object reveals that, because the values of a map are strings.
 */
function parseMapBody(route: RouteMatch, value: unknown): RequestMembers {
  if (value === null) throw invalidInput('the body is empty; expected a JSON object')
  const body = assertObject(value)
  if (!isObject(body['metadata'])) return { metadata: body }
  assertMatchesRoute(route, body, ['id'])
  return body
}

/** An absent or null member matches any route; `[]` is the root. */
function assertMatchesRoute(
  { id, indexName }: RouteMatch,
  members: RequestMembers,
  repeatedNames: readonly string[],
): void {
  for (const name of repeatedNames) {
    const value = members[name]
    if (name === 'id') assertIdentifierMatches(value, id, name)
    else if (value !== undefined && value !== null && value !== indexName) {
      throw invalidInput(`the ${quoteForMessage(name)} in the body differs from the one in the route`)
    }
  }
}

function assertIdentifierMatches(value: unknown, id: Identifier, name: string): void {
  const identifier = readIdentifier(value, name)
  if (identifier !== undefined && !isSameIdentifier(identifier, id))
    throw invalidInput(`the ${quoteForMessage(name)} in the body differs from the id in the route`)
}

/** Returns undefined if the member is absent or null. */
function readIdentifier(value: unknown, name: string): Identifier | undefined {
  if (value === undefined || value === null) return undefined
  if (isListOfStrings(value)) return value
  throw invalidInput(`the member ${quoteForMessage(name)} of the body is not a list of strings`)
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
  const parsed = validateMembers(name, members)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const { path, message } = issue === undefined ? unknownIssue : findDeepestIssue(issue)
  // Then the message names the members: a request in several forms, or members that exclude each other.
  if (path.length === 0) throw invalidInput(`invalid request: ${message}`)
  const member = path.map(String).join('.')
  throw invalidInput(`invalid member ${quoteForMessage(member)} of the request: ${message}`)
}

type Issue = Pick<z.core.$ZodIssue, 'path' | 'message'>

const unknownIssue: Issue = { path: [], message: 'unexpected value' }

/** A value in several forms is meant in the form that explains most of it. Without one, the issue lists the forms. */
function findDeepestIssue(issue: z.core.$ZodIssue): Issue {
  if (issue.code !== 'invalid_union') return issue
  let deepest: Issue = { path: [], message: issue.message }
  // At a depth of one, the member may be missing just because the value has another form.
  let depth = 1
  for (const [first] of issue.errors) {
    const found = first === undefined ? deepest : findDeepestIssue(first)
    if (found.path.length <= depth) continue
    depth = found.path.length
    deepest = found
  }
  return { path: [...issue.path, ...deepest.path], message: deepest.message }
}

function validateMembers(name: OperationName, members: RequestMembers) {
  try {
    return operationSchemas[name].request.safeParse(members)
  } catch (error) {
    // A recursive member nested thousands of levels deep overflows the stack.
    if (error instanceof RangeError) throw invalidInput('the body is nested too deeply', { cause: error })
    throw error
  }
}

function parseParameter(type: string | undefined, text: string | readonly string[]): unknown {
  if (type === 'integer') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}
