import { getMembers, memoize } from '../../lib/index.ts'
import { headerDialects, apiKeyHeader, arrowFileType, arrowStreamType, requestIdHeader } from '../headers.ts'
import { defaultDelimiter } from '../identifiers.ts'
import { describeParameters, sharedParameters, describePermissions } from './parameters.ts'
import { describeErrors, errorResponseSchema, errorsForOperation } from './error-responses.ts'
import { describeDefinitions, describeSchema, schemaReference } from './json-schemas.ts'
import { getOperation, operationNames, type Operation } from '../operations.ts'
import { collectMemberNames, findSchemas, type JsonSchema } from '../schemas.ts'

/** Path of the document. It needs no authentication: the interface is public. */
export const openApiPath = '/openapi.json'

/** Path of the page that shows the document in a browser. It needs no authentication, either. */
export const docsPath = '/docs'

interface Components {
  readonly schemas: Map<string, JsonSchema>
  readonly responses: Map<string, object>
}

const howToGetAKey = `Send a key in the header "${apiKeyHeader}", or a token as "Authorization: Bearer". Ask the operators of this gateway for a key; they create one with \`catalog-gateway keys create\`. With an authorization server in the list of this page, a client gets tokens from there with its own id and secret. A request without a credential gets 401; a 403 names the permission that is missing, and a policy must allow it.`

const contextHeader = headerDialects.catalog.context

const anyObject: JsonSchema = { type: 'object' }
/** Not the empty schema, which JSON Schema has for it: generators of clients would drop the body. */
const binary: JsonSchema = { type: 'string', format: 'binary' }
const mapOfPairs: JsonSchema = {
  type: 'object',
  description: 'Pairs to set; null removes a key.',
  additionalProperties: { type: ['string', 'null'] },
}

const objectTags = [
  { name: 'namespace', description: 'Namespaces, which contain namespaces and tables.' },
  { name: 'table', description: 'Tables with their data, versions, tags, branches, columns and indexes.' },
  { name: 'transaction', description: 'Transactions of a catalog.' },
  { name: 'materialized_view', description: 'Materialized views.' },
  { name: 'view', description: 'Views, which share the names of tables.' },
  { name: 'function', description: 'Functions that compute columns and views.' },
  { name: 'secret', description: 'Secrets that functions get; no response has their values.' },
  { name: 'grant', description: 'Grants, roles, principals and groups of a server that has its own.' },
  { name: 'job', description: 'Jobs, which continue the work of other operations.' },
]

const getDocument = memoize((serverUrl: string) => JSON.stringify(describeInterface(serverUrl, [])))

/**
 * Returns the OpenAPI 3.1 document of the catalog API and of extra operations below `basePath` as JSON; no base path is
 * empty. The document without extra operations is created once.
 */
export function getOpenApiDocument(basePath = '', extraOperations: readonly Operation[] = []): string {
  const serverUrl = basePath === '' ? '/' : basePath
  return extraOperations.length === 0
    ? getDocument(serverUrl)
    : JSON.stringify(describeInterface(serverUrl, extraOperations))
}

function describeInterface(serverUrl: string, extraOperations: readonly Operation[]): object {
  const components: Components = {
    schemas: describeDefinitions().set('ErrorResponse', errorResponseSchema),
    responses: new Map(),
  }
  const paths = Object.fromEntries(
    [...operationNames.map(getOperation), ...extraOperations].flatMap((operation) =>
      describePaths(operation, components),
    ),
  )
  return {
    openapi: '3.1.1',
    info: {
      title: 'Table catalog',
      version: '1.0.0',
      description: `Every operation takes the query parameter "delimiter" (default "${defaultDelimiter}"), and any path may end in a slash. A request may set its id in the header "${requestIdHeader}"; every response has one. Headers "${contextHeader}NAME" state the members of "context", for example "${contextHeader}region". A request may only have the members that are listed; null means absent.\n\n${howToGetAKey}`,
      contact: { name: 'catalog-gateway' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    tags: objectTags,
    paths,
    components: {
      schemas: Object.fromEntries(components.schemas),
      responses: Object.fromEntries(components.responses),
      parameters: sharedParameters,
      securitySchemes,
    },
  }
}

const securitySchemes = {
  apiKey: { type: 'apiKey', in: 'header', name: apiKeyHeader },
  bearer: { type: 'http', scheme: 'bearer' },
}

/** Of the operation ids for a method that is not the official one. */
const operationIdSuffixes = { GET: 'ByGet', HEAD: 'ByHead', POST: 'ByPost' } as const

function describePaths(operation: Operation, components: Components): [string, object][] {
  const { name, method, methods, path, aliases } = operation
  const other = methods.find((accepted) => accepted !== method)
  const described = describeOperation(operation, components)
  const { requestBody: _requestBody, ...withoutBody } = described
  return [
    [
      path,
      {
        [method.toLowerCase()]: { operationId: name, ...described },
        ...(other && {
          [other.toLowerCase()]: { operationId: `${name}${operationIdSuffixes[other]}`, ...withoutBody },
        }),
      },
    ],
    ...aliases.map((alias, index): [string, object] => [
      alias,
      { [method.toLowerCase()]: { operationId: `${name}${index + 2}`, deprecated: true, ...described } },
    ]),
  ]
}

function describeOperation(operation: Operation, components: Components) {
  const { name } = operation
  const schemas = findSchemas(name)
  const example = schemas?.example
  // It is accepted in a member `query`, too.
  const requestSchema = findSchemas(name === 'AnalyzeTableQueryPlan' ? 'QueryTable' : name)?.request
  const request = requestSchema ? describeSchema(requestSchema, components.schemas) : anyObject
  const members = getMembers(request['properties'])
  const requestBody = describeBody(operation, request, example, components)
  const response = describeResponse(operation, schemas?.response, components)
  return {
    tags: [tagFor(operation)],
    summary: operation.summary,
    description: describePermissions(operation),
    'x-effect': operation.effect,
    ...(operation.group !== undefined && { 'x-group': operation.group }),
    parameters: describeParameters(operation, members, example),
    ...(requestBody && { requestBody }),
    responses: {
      [operation.status]: response,
      ...(operation.mayStartJob && { 202: { ...response, description: 'A job continues the work.' } }),
      ...describeErrors(
        errorsForOperation(operation, collectMemberNames(requestSchema)),
        components.responses,
      ),
    },
  }
}

function tagFor({ object, path }: Operation): string {
  if (object !== 'none') return object
  if (path.startsWith('/admin/')) return 'grant'
  return path.startsWith('/v1/jobs/') ? 'job' : 'table'
}

function describeBody(
  { name, body, alsoArrowSchema }: Operation,
  request: JsonSchema,
  example: unknown,
  components: Components,
) {
  if (body === 'none') return undefined
  if (body === 'arrow') return { required: true, content: { [arrowStreamType]: { schema: binary } } }
  if (body === 'map') {
    const { metadata } = getMembers(example)
    return { required: true, content: { 'application/json': { schema: mapOfPairs, example: metadata } } }
  }
  components.schemas.set(`${name}Request`, request)
  const schema = schemaReference(`${name}Request`)
  return {
    required: true,
    content: {
      'application/json': { schema, example: example ?? {} },
      ...(alsoArrowSchema && { [arrowStreamType]: { schema: binary } }),
    },
  }
}

function describeResponse(
  { name, effect, response: form, responseHeaders }: Operation,
  response: JsonSchema | undefined,
  components: Components,
) {
  if (form === 'empty') return { description: effect === 'read' ? 'It exists.' : 'It will be done.' }
  if (form === 'arrow') return describeBinary('An Arrow IPC file.', arrowFileType)
  if (form === 'arrow-stream') return describeBinary('An Arrow IPC stream.', arrowStreamType)
  if (form === 'bytes') {
    const headers = responseHeaders.map((header) => [header, { schema: { type: 'string' } }] as const)
    const whole = describeBinary('The value, or the requested part.', 'application/octet-stream')
    return { ...whole, headers: Object.fromEntries(headers) }
  }
  const schema = response ? describeSchema(response, components.schemas) : anyObject
  components.schemas.set(`${name}Response`, schema)
  return {
    description: 'Done.',
    content: {
      'application/json': { schema: schemaReference(`${name}Response`) },
      // As it is, not as a JSON string.
      ...(schema['type'] === 'string' && { 'text/plain': { schema: { type: 'string' } } }),
    },
  }
}

function describeBinary(description: string, type: string) {
  return { description, content: { [type]: { schema: binary } } }
}
