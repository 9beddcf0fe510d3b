import { deepEqual, equal, match, ok as assert } from 'node:assert/strict'
import { z } from 'zod'
import { errorCodes, type ErrorName } from '../../src/catalog-api/catalog-error.ts'
import { arrowFileType, arrowStreamType } from '../../src/catalog-api/headers.ts'
import type { Identifier } from '../../src/catalog-api/identifiers.ts'
import { documentedCodes } from './interface-document.ts'
import { getOperation, type Operation, type OperationName } from '../../src/catalog-api/operations.ts'
import { operationSchemas } from '../../src/catalog-api/schemas/operation-schemas.ts'

/** A catalog that is already running, whoever started it, and the headers that let the caller in. */
export interface ConformanceTarget {
  readonly url: string
  readonly credentials: Readonly<Record<string, string>>
}

/** What a request holds besides operation and id. */
export interface Parts {
  /** Bytes are sent as an Arrow stream, text as it is, anything else as JSON. */
  readonly body?: unknown
  readonly query?: Readonly<Record<string, string | readonly string[]>>
  /** A header without a value is left out, also where one would be sent. */
  readonly headers?: Readonly<Record<string, string>>
  /** What joins the id in the route; sent along unless it is the default. */
  readonly delimiter?: string
  readonly indexName?: string
  readonly method?: string
  readonly trailingSlash?: boolean
  /** The id of the route as it stands there, instead of the one that is given. */
  readonly rawId?: string
  readonly anonymous?: boolean
}

/** An answer that has the form that the interface gives it. */
interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  /** Undefined where the answer has no JSON. */
  readonly json: unknown
}

/** The members of a JSON answer. */
type Members = Readonly<Record<string, unknown>>

/** The catalog has not what a case is about and says so with 406, or the case cannot be tried from here. */
export class NotThere extends Error {
  override readonly name = 'NotThere'
}

/** Sends requests and holds every answer to the interface. All functions throw where an answer is not as it must be. */
export interface CatalogClient {
  /** Any answer; NotThere for a 406. */
  readonly call: (operation: OperationName, id: Identifier, parts?: Parts) => Promise<Answer>
  /** The members of a success. */
  readonly ok: (operation: OperationName, id: Identifier, parts?: Parts) => Promise<Members>
  /** A request that must be answered with one of these errors. */
  readonly refused: (
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
// Not every operation has an answer in JSON, which the compiler takes for a difference in type.
const schemas = operationSchemas as Partial<Record<string, { readonly response?: z.ZodType }>>

/** A client of that catalog. */
export function connectTo(target: ConformanceTarget): CatalogClient {
  const call: CatalogClient['call'] = async (name, id, parts = {}) => {
    const operation = getOperation(name)
    const response = await fetch(target.url.replace(/\/$/, '') + routeOf(operation, id, parts), {
      method: parts.method ?? operation.method,
      headers: headersOf(parts, target),
      signal: AbortSignal.timeout(responseHeadersTimeoutMs),
      ...(parts.body !== undefined && { body: bodyOf(parts.body) }),
    })
    const answer = await read(response)
    if (answer.status >= 400) checkError(operation, answer)
    else checkSuccess(operation, answer)
    return answer
  }
  return {
    call,
    async ok(name, id, parts) {
      const { status, json } = await call(name, id, parts)
      assert(status < 400, `${name} was refused: ${status} ${JSON.stringify(json)}`)
      return json as Members
    },
    async refused(name, id, parts, ...errors) {
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

/** Text goes as bytes: for a text, a content type of its own would be added where there is none. */
function bodyOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
}

async function read(response: Response): Promise<Answer> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
  const json: unknown = isJson ? JSON.parse(Buffer.from(bytes).toString()) : undefined
  return { status: response.status, headers: response.headers, bytes, json }
}

/** Interface section 4: an ErrorResponse whose code is one that the operation may answer. */
function checkError(operation: Operation, { status, headers, json }: Answer): void {
  const { code, instance } = errorBody.parse(json)
  equal(instance, headers.get('x-request-id'), 'the instance of an error is the id of its request')
  if (status === 406) throw new NotThere(show(json))
  if (code === 0) {
    assert(status === 404 || status === 405, `code 0 is answered with 404, 405 or 406, not with ${status}`)
    return
  }
  assert(
    documentedCodes(operation).includes(code),
    `the code ${code} is none of ${operation.name}: ${show(json)}`,
  )
}

/** Interface sections 1 and 2: the status, the form and the members of a success. */
function checkSuccess(operation: Operation, { status, headers, bytes, json }: Answer): void {
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

/** A value as it is shown in a message. */
function show(json: unknown): string {
  return JSON.stringify(json) ?? 'no JSON'
}
