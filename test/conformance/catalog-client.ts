import { ok as assert } from 'node:assert/strict'
import type { S3Client } from '@aws-sdk/client-s3'
import { z } from 'zod'
import { errorCodes, type ErrorName } from '../../src/catalog-api/catalog-error.ts'
import { arrowFileType, arrowStreamType, policyRevisionHeader } from '../../src/catalog-api/headers.ts'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import { documentedCodes } from './openapi-requirements.ts'
import { getOperation, type Operation, type OperationName } from '../../src/catalog-api/operations.ts'
import { getMembers } from '../../src/lib/json/json-values.ts'
import { operationSchemas } from '../../src/backend/schemas/operation-schemas.ts'

/** A running catalog. */
export interface ConformanceTarget {
  readonly url: string
  /** The headers that authenticate to it. */
  readonly credentials: Readonly<Record<string, string>>
  /** Client of the object store of its tables, if a run may write to them. */
  readonly objectStore?: S3Client
}

/** What a run has learned of the catalog that it tests. */
export interface RunFindings {
  /** Locations that the catalog chose for tables of this run: only what lies there is dropped. */
  readonly ownLocations: Set<string>
  /** Whether responses come through a catalog-gateway, which refuses members that the interface does not have. */
  isGateway: boolean
}

/** The parts of a request besides operation and id. */
export interface Parts {
  /**
   * Bytes are sent as an Arrow stream, text unchanged, anything else as JSON, undefined as no body. Default: the empty
   * object that most clients send, if the operation has a JSON body.
   */
  readonly body?: unknown
  readonly query?: Readonly<Record<string, string | readonly string[]>>
  /** A header without a value is omitted, also if it has a default. */
  readonly headers?: Readonly<Record<string, string>>
  /** Joins the id in the route; sent as a parameter unless it is the default. */
  readonly delimiter?: string
  readonly indexName?: string
  readonly method?: string
  readonly trailingSlash?: boolean
  /** The raw id for the route, in place of the encoded id. */
  readonly rawId?: string
  readonly anonymous?: boolean
}

/** A response, whether or not it has the form that the interface requires. */
interface ReceivedResponse {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  /** Undefined if the response is not JSON. */
  readonly json: unknown
}

type Members = Readonly<Record<string, unknown>>

/** The catalog does not implement an operation, or this use of it. */
export class NotImplemented extends Error {
  override readonly name = 'NotImplemented'
  readonly operation: OperationName

  constructor(operation: OperationName, status: number) {
    super(`${operation} is not implemented: status ${status}`)
    this.operation = operation
  }
}

/** The case cannot be tested from here. */
export class NotTestable extends Error {
  override readonly name = 'NotTestable'
}

/** Receives a response that is not in the form of the interface: the operation, and the error. */
export type ReportForm = (operation: OperationName, message: string) => void

/** Sends requests, and reports responses that are not in the form of the interface. */
export interface CatalogClient {
  /** Returns any response; throws NotImplemented if there is no such operation. */
  readonly call: (operation: OperationName, id: Identifier, parts?: Parts) => Promise<ReceivedResponse>
  /** Returns the members of a success. */
  readonly ok: (operation: OperationName, id: Identifier, parts?: Parts) => Promise<Members>
  /** Requires one of these errors. */
  readonly expectError: (
    operation: OperationName,
    id: Identifier,
    parts: Parts,
    ...errors: readonly ErrorName[]
  ) => Promise<void>
  /** Requires one of these errors for this body. */
  readonly rejects: (
    operation: OperationName,
    id: Identifier,
    body: unknown,
    ...errors: readonly ErrorName[]
  ) => Promise<void>
}

const responseHeadersTimeoutMs = 60_000
/** Ends a listing whose pages do not end. */
const maxRequests = 500
const errorBody = z.looseObject({
  error: z.string().min(1),
  code: z.int(),
  detail: z.string().optional(),
  instance: z.string().min(1),
})
// Not every operation has a JSON response, which the compiler sees as a type difference.
const schemas = operationSchemas as Partial<Record<string, { readonly response?: z.ZodType }>>

/** Creates a client of that catalog for one case, which adds to the findings of its run. */
export function connectTo(
  target: ConformanceTarget,
  report: ReportForm,
  findings: RunFindings,
): CatalogClient {
  let requests = 0
  const call: CatalogClient['call'] = async (name, id, written = {}) => {
    const operation = getOperation(name)
    const parts = addDefaultBody(operation, written)
    requests += 1
    assert(requests <= maxRequests, `no end after ${maxRequests} requests`)
    const response = await fetch(target.url.replace(/\/$/, '') + routeOf(operation, id, parts), {
      method: parts.method ?? operation.method,
      headers: headersOf(parts, target),
      signal: AbortSignal.timeout(responseHeadersTimeoutMs),
      ...(parts.body !== undefined && { body: bodyOf(parts.body) }),
    })
    const received = await read(response)
    if (received.headers.has(policyRevisionHeader)) findings.isGateway = true
    const location = findChosenLocation(name, parts, received)
    if (location !== undefined) findings.ownLocations.add(location)
    if (isNotImplemented(operation, parts, received)) throw new NotImplemented(name, received.status)
    for (const check of received.status >= 400 ? errorChecks : successChecks) {
      try {
        check(operation, received)
      } catch (error) {
        report(name, error instanceof Error ? error.message : String(error))
      }
    }
    return received
  }
  const expectError: CatalogClient['expectError'] = async (name, id, parts, ...errors) => {
    const { status, json } = await call(name, id, parts)
    const expected = errors.map((error) => `${errorCodes[error].status} code ${errorCodes[error].code}`)
    const found = `${status} code ${String(getMembers(json)['code'])}`
    assert(expected.includes(found), `expected ${expected.join(' or ')}, found ${found}: ${show(json)}`)
  }
  return {
    call,
    expectError,
    rejects: (name, id, body, ...errors) => expectError(name, id, { body }, ...errors),
    async ok(name, id, parts) {
      const { status, json } = await call(name, id, parts)
      assert(status < 400, `${name} was refused: ${status} ${JSON.stringify(json)}`)
      return getMembers(json)
    },
  }
}

/** The location that the catalog, and not the request, has chosen for a new table. */
function findChosenLocation(
  name: OperationName,
  { body, headers = {} }: Parts,
  { status, json }: ReceivedResponse,
): string | undefined {
  if (status >= 400 || (name !== 'CreateTable' && name !== 'DeclareTable')) return undefined
  if (
    'location' in getMembers(body) ||
    Object.keys(headers).some((header) => header.endsWith('-table-location'))
  )
    return undefined
  const { location } = getMembers(json)
  return typeof location === 'string' ? location : undefined
}

function addDefaultBody({ body, method }: Operation, parts: Parts): Parts {
  if ('body' in parts || body !== 'json' || (parts.method ?? method) !== 'POST') return parts
  return { ...parts, body: {} }
}

function routeOf(operation: Operation, id: Identifier, parts: Parts): string {
  const { delimiter = '$', indexName = 'an_index', rawId, trailingSlash, query = {} } = parts
  const joined = rawId ?? encodeURIComponent(id.length === 0 ? delimiter : id.join(delimiter))
  const path = operation.path
    .replace('{id}', () => joined)
    .replace('{index_name}', () => encodeURIComponent(indexName))
    .replace('{column}', 'a_column')
    .replace('{row_id}', '0')
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}=${encodeURIComponent(one)}`),
  )
  if (parts.delimiter !== undefined) pairs.push(`delimiter=${encodeURIComponent(parts.delimiter)}`)
  return path + (trailingSlash ? '/' : '') + (pairs.length === 0 ? '' : `?${pairs.join('&')}`)
}

function headersOf({ body, anonymous, headers }: Parts, target: ConformanceTarget): [string, string][] {
  const type = body instanceof Uint8Array ? arrowStreamType : 'application/json'
  const all = {
    ...(body !== undefined && { 'content-type': type }),
    ...(!anonymous && target.credentials),
    ...headers,
  }
  return Object.entries(all).filter(([, value]) => value !== '')
}

/** Text is sent as bytes: fetch would add a content type to a string. */
function bodyOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
}

async function read(response: Response): Promise<ReceivedResponse> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
  const json = isJson ? parseJson(Buffer.from(bytes).toString()) : undefined
  return { status: response.status, headers: response.headers, bytes, json }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An object that does not exist has a code of its own; a route that does not exist has none, or 0. */
function isNotImplemented(
  operation: Operation,
  { method }: Parts,
  { status, json }: ReceivedResponse,
): boolean {
  const { code, error } = getMembers(json)
  if (status >= 500) return status === 501 || /not (supported|implemented)/i.test(String(error))
  if (typeof code === 'number' && code !== 0) return false
  const isUsualMethod = method === undefined || method === operation.method
  return status === 404 || status === 406 || (status === 405 && isUsualMethod)
}

type FormCheck = (operation: Operation, response: ReceivedResponse) => void

/** Interface section 4: an ErrorResponse with a code that is allowed for the operation. */
const errorChecks: readonly FormCheck[] = [
  (_operation, { status, json }) => parseAs(errorBody, json, `an error with status ${status}`),
  (_operation, { headers, json }) =>
    assert(
      getMembers(json)['instance'] === (headers.get('x-request-id') ?? 'missing'),
      'the instance of an error is not the x-request-id of its response',
    ),
  (operation, { status, json }) => {
    const { code } = getMembers(json)
    if (typeof code !== 'number') return
    if (code === 0) assert(status === 404 || status === 405, `code 0 with status ${status}`)
    else
      assert(
        documentedCodes(operation).includes(code),
        `${operation.name} has no error with code ${code} (status ${status})`,
      )
  },
]

/** Interface sections 1 and 2: the status, the format and the members of a success. */
const successChecks: readonly FormCheck[] = [
  (operation, { status, json }) => {
    const expected = operation.mayStartJob && 'job_id' in getMembers(json) ? 202 : operation.status
    assert(status === expected, `status ${status} instead of ${expected}`)
  },
  (operation, { headers, bytes, json }) => {
    const type = headers.get('content-type') ?? ''
    if (operation.response === 'empty') {
      assert(bytes.length === 0, 'the answer has a body')
    } else if (operation.response === 'arrow') {
      assert(type === arrowFileType, `content type "${type}" instead of ${arrowFileType}`)
      assert(Buffer.from(bytes.subarray(0, 6)).toString() === 'ARROW1', 'the answer is no Arrow file')
    } else if (operation.response === 'arrow-stream') {
      assert(type === arrowStreamType, `content type "${type}" instead of ${arrowStreamType}`)
    } else if (operation.response === 'json') {
      assert(type.startsWith('application/json'), `content type "${type}" instead of JSON`)
      const schema = schemas[operation.name]?.response
      if (schema !== undefined) parseAs(schema, json, 'the answer')
    }
  },
]

function parseAs(schema: z.ZodType, json: unknown, what: string): void {
  const { error } = schema.safeParse(json)
  assert(error === undefined, `${what} has another form:\n${error ? z.prettifyError(error) : ''}`)
}

function show(json: unknown): string {
  return JSON.stringify(json) ?? 'no JSON'
}
