import { jwksPath } from '../identity/assertion/assertions.ts'
import { refusal } from '../catalog-api/catalog-error.ts'
import { openApiPath, getOpenApiDocument } from '../catalog-api/openapi/openapi-document.ts'
import type { Received } from './context.ts'
import type { DownstreamResponse } from './downstream.ts'
import { scheduleAtTickEnd } from '../lib/async/schedule-at-tick-end.ts'
import type { LoadShedder } from '../limits/overload/load-shedder.ts'
import { gatewayHeaders, type ResponseContext } from './gateway-headers.ts'

/** A public JSON document that the gateway itself serves. */
export interface ServedDocument {
  /** Replaces the operation in metrics and the log. */
  readonly name: 'openapi' | 'jwks'
  readonly bytes: Buffer
}

/**
 * Finds the document that a request is for; undefined if its target is none. Throws InvalidInput (400) for a request
 * with a body, and Unsupported (405) for a method other than GET.
 */
export type FindDocument = (request: Received) => ServedDocument | undefined

/**
 * Creates the finder of the documents of a gateway, below `basePath`; none is empty. `jwks` is the JWKS of its
 * assertions, if it signs any.
 */
export function createDocumentFinder(jwks: string | undefined, basePath = ''): FindDocument {
  const documents = new Map<string, ServedDocument>([
    [basePath + openApiPath, { name: 'openapi', bytes: Buffer.from(getOpenApiDocument(basePath)) }],
  ])
  if (jwks !== undefined) documents.set(basePath + jwksPath, { name: 'jwks', bytes: Buffer.from(jwks) })
  return ({ head: { method, target, hasBody } }) => {
    const document = documents.get(target)
    if (document === undefined) return undefined
    if (method !== 'GET') {
      throw refusal('method_not_allowed', `method ${method} is not allowed for ${target}; use GET`, {
        headers: { allow: 'GET' },
      })
    }
    if (hasBody) throw refusal('unexpected_body', `unexpected body in a GET request for ${target}`)
    return document
  }
}

/** Sends a document. Throws Overloaded (503) if the gateway sheds load. */
export function sendDocument(
  { bytes }: ServedDocument,
  response: DownstreamResponse,
  shedding: LoadShedder,
  context: ResponseContext,
): void {
  shedding.admitDocument()
  const length = String(bytes.length)
  const headers = ['content-type', 'application/json', 'content-length', length, ...gatewayHeaders(context)]
  response.writeHead(200, headers)
  scheduleAtTickEnd(() => response.end(bytes))
}
