import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import type { NodeRequest, NodeRequestHandler, RawResponse } from './node-requests.ts'
import type { NodeResponse } from './node-response.ts'

/** A request as its server passed it. The converted request reads its body, the converted response writes. */
export interface RawRequestPair {
  readonly request: NodeRequest
  readonly response: RawResponse
}

/** Takes requests that are not for the handler, such as those for pass-through routes. */
export interface Interceptor {
  /** Whether it takes requests with this raw request target. */
  matches(target: string): boolean
  handle(request: IncomingRequest, response: NodeResponse, raw: RawRequestPair): void
  /**
   * Takes all requests of HTTP/1.1 for another protocol, with any target; undefined if these are ordinary ones.
   * The connection is its own from then on, until the server drains.
   */
  readonly handleUpgrade?: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | undefined
}

/** Returns the callback that takes the converted request in place of the handler's; undefined if there is none. */
export function intercept(
  interceptor: Interceptor | undefined,
  raw: RawRequestPair,
): NodeRequestHandler['onRequest'] | undefined {
  if (interceptor?.matches(raw.request.url ?? '') !== true) return undefined
  return (request, response) => interceptor.handle(request, response, raw)
}
