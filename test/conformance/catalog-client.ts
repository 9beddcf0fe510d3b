import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import { z } from 'zod'
import { errorCodes, type ErrorName } from '../../src/catalog-api/catalog-error.ts'
import { arrowFileType, arrowStreamType } from '../../src/catalog-api/headers.ts'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import { documentedCodes } from './openapi-requirements.ts'
import { getOperation, type Operation, type OperationName } from '../../src/catalog-api/operations.ts'
import { operationSchemas } from '../../src/catalog-api/schemas/operation-schemas.ts'

/** A running catalog, and the headers that authenticate to it. */
export interface ConformanceTarget {
  readonly url: string
  readonly credentials: Readonly<Record<string, string>>
}

/** The parts of a request besides operation and id. */
export interface Parts {
  /** Bytes are sent as an Arrow stream, text unchanged, anything else as JSON. */
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

interface CheckedResponse {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  /** Undefined if the response is not JSON. */
  readonly json: unknown
}

type Members = Readonly<Record<string, unknown>>

/** The catalog does not implement the feature (406), or the case cannot be tested from here. */
export class NotSupported extends Error {
  override readonly name = 'NotSupported'
}

/** Sends requests and checks every response. All functions throw for an invalid response. */
export interface CatalogClient {
  /** Returns any response; throws NotSupported for a 406. */
  readonly call: (operation: OperationName, id: Identifier, parts?: Parts) => Promise<CheckedResponse>
  /** Returns the members of a success. */
  readonly ok: (operation: OperationName, id: Identifier, parts?: Parts) => Promise<Members>
  /** Requires one of these errors. */
  readonly expectError: (
    operation: OperationName,
    id: Identifier,
    parts: Parts,
    ...errors: readonly ErrorName[]
  ) => Promise<void>
}

const responseHeadersTimeoutMs = 60_000
const errorBody = z.looseObject({
  error: z.string().min(1),
  code: z.int(),
  detail: z.string().optional(),
  instance: z.string().min(1),
})
// Not every operation has a JSON response, which the compiler sees as a type difference.
const schemas = operationSchemas as Partial<Record<string, { readonly response?: z.ZodType }>>

export function connectTo(target: ConformanceTarget): CatalogClient {
  const call: CatalogClient['call'] = async (name, id, parts = {}) => {
    const operation = getOperation(name)
    const response = await fetch(target.url.replace(/\/$/, '') + routeOf(operation, id, parts), {
      method: parts.method ?? operation.method,
      headers: headersOf(parts, target),
      signal: AbortSignal.timeout(responseHeadersTimeoutMs),
      ...(parts.body !== undefined && { body: bodyOf(parts.body) }),
    })
    const checked = await read(response)
    if (checked.status >= 400) checkError(operation, checked)
    else checkSuccess(operation, checked)
    return checked
  }
  return {
    call,
    async ok(name, id, parts) {
      const { status, json } = await call(name, id, parts)
      assert(status < 400, `${name} was expectError: ${status} ${JSON.stringify(json)}`)
      return json as Members
    },
    async expectError(name, id, parts, ...errors) {
      const { status, json } = await call(name, id, parts)
      const expected = errors.map((error) => `${errorCodes[error].status} code ${errorCodes[error].code}`)
      const found = `${status} code ${String((json as Members | undefined)?.['code'])}`
      assert(expected.includes(found), `expected ${expected.join(' or ')}, found ${found}: ${show(json)}`)
    },
  }
}

function routeOf(operation: Operation, id: Identifier, parts: Parts): string {
  const { delimiter = '$', indexName = 'an_index', rawId, trailingSlash, query = {} } = parts
  const joined = rawId ?? encodeURIComponent(id.length === 0 ? delimiter : id.join(delimiter))
  const path = operation.path
    .replace('{id}', () => joined)
    .replace('{index_name}', () => encodeURIComponent(indexName))
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

async function read(response: Response): Promise<CheckedResponse> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
  const json: unknown = isJson ? JSON.parse(Buffer.from(bytes).toString()) : undefined
  return { status: response.status, headers: response.headers, bytes, json }
}

/** Requires an ErrorResponse with a code that is allowed for the operation. */
function checkError(operation: Operation, { status, headers, json }: CheckedResponse): void {
  const { code, instance } = errorBody.parse(json)
  equal(instance, headers.get('x-request-id'), 'the instance of an error is the id of its request')
  if (status === 406) throw new NotSupported(show(json))
  if (code === 0) {
    assert(status === 404 || status === 405, `code 0 is answered with 404, 405 or 406, not with ${status}`)
    return
  }
  assert(
    documentedCodes(operation).includes(code),
    `the code ${code} is none of ${operation.name}: ${show(json)}`,
  )
}

/** Checks status, format and members of a success. */
function checkSuccess(operation: Operation, { status, headers, bytes, json }: CheckedResponse): void {
  equal(status, operation.status)
  const type = headers.get('content-type') ?? ''
  if (operation.response === 'empty') {
    equal(bytes.length, 0, 'the answer has no body')
  } else if (operation.response === 'arrow') {
    equal(type, arrowFileType)
    deepEqual(Buffer.from(bytes.subarray(0, 6)).toString(), 'ARROW1')
  } else {
    match(type, /^application\/json/)
    schemas[operation.name]?.response?.parse(json)
  }
}

function show(json: unknown): string {
  return JSON.stringify(json) ?? 'no JSON'
}
