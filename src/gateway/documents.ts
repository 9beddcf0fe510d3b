import { jwksPath } from '../identity/assertion/assertions.ts'
import { refusal } from '../catalog-api/catalog-error.ts'
import { openApiPath, getOpenApiDocument } from '../catalog-api/openapi/openapi-document.ts'
import type { Operation } from '../catalog-api/operations.ts'
import type { Received } from './context.ts'
import type { ReceivedHead } from './received-head.ts'
import type { DownstreamResponse } from './downstream.ts'
import { createEntityTag, listsEntityTag } from '../lib/http/entity-tags.ts'
import { scheduleAtTickEnd } from '../lib/async/schedule-at-tick-end.ts'
import type { LoadShedder } from '../limits/overload/load-shedder.ts'
import { gatewayHeaders, type ResponseContext } from './gateway-headers.ts'

/** A public JSON document that the gateway itself serves. */
export interface ServedDocument {
  /** Replaces the operation in metrics and the log. */
  readonly name: 'openapi' | 'jwks'
  readonly bytes: Buffer
  /** Strong (RFC 9110, section 8.8.3). */
  readonly entityTag: string
}

/**
 * Finds the document that a request is for; undefined if its target is none. Throws InvalidInput (400) for a request
 * with a body, and Unsupported (405) for a method other than GET and HEAD.
 */
export type FindDocument = (request: Received) => ServedDocument | undefined

/**
 * Creates the finder of the documents of a gateway, below `basePath`; none is empty. `jwks` is the JWKS of its
 * assertions, if it signs any; `extraOperations` appear in the OpenAPI document.
 */
export function createDocumentFinder(
  jwks: string | undefined,
  basePath = '',
  extraOperations: readonly Operation[] = [],
): FindDocument {
  const documents = new Map<string, ServedDocument>([
    [basePath + openApiPath, createDocument('openapi', getOpenApiDocument(basePath, extraOperations))],
  ])
  if (jwks !== undefined) documents.set(basePath + jwksPath, createDocument('jwks', jwks))
  return ({ head: { method, target, hasBody } }) => {
    const document = documents.get(target)
    if (document === undefined) return undefined
    if (method !== 'GET' && method !== 'HEAD') {
      throw refusal('method_not_allowed', `method ${method} is not allowed for ${target}; use GET`, {
        headers: { allow: 'GET, HEAD' },
      })
    }
    if (hasBody) throw refusal('unexpected_body', `unexpected body in a ${method} request for ${target}`)
    return document
  }
}

function createDocument(name: ServedDocument['name'], text: string): ServedDocument {
  const bytes = Buffer.from(text)
  return { name, bytes, entityTag: createEntityTag(bytes) }
}

/**
 * Sends a document: its headers alone for HEAD, and 304 (Not Modified) if the client has it. Throws Overloaded (503) if
 * the gateway sheds load.
 */
export function sendDocument(
  { bytes, entityTag }: ServedDocument,
  { head }: Received,
  response: DownstreamResponse,
  shedding: LoadShedder,
  context: ResponseContext,
): void {
  shedding.admitDocument()
  const length = String(bytes.length)
  const isKnown = hasEntityTag(head, entityTag)
  const headers = ['content-type', 'application/json', 'content-length', length, 'etag', entityTag]
  // The client may keep it, and asks each time whether it is current.
  headers.push('cache-control', 'no-cache', ...gatewayHeaders(context))
  response.writeHead(isKnown ? 304 : 200, headers)
  scheduleAtTickEnd(() => response.end(bytes))
}

function hasEntityTag({ headers }: ReceivedHead, tag: string): boolean {
  return headers.some(
    (value, index) => headers[index - 1] === 'if-none-match' && index % 2 === 1 && listsEntityTag(value, tag),
  )
}
