import type { IncomingMessage } from 'node:http'
import type { ConnectionAddresses } from '../lib/net/connection-addresses.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import type { RequestHead } from '../http1/server/request-head.ts'
import type { NodeRequest, NodeRequestHandler, RawResponse } from './node-requests.ts'
import type { NodeResponse } from './node-response.ts'

/** A request as its server passed it. The converted request reads its body, the converted response writes. */
export interface RawRequestPair {
  readonly request: NodeRequest
  readonly response: RawResponse
}

/** Takes requests that are not for the handler, such as those for pass-through routes. */
export interface Interceptor {
  matches(head: RequestHead): boolean
  handle(request: IncomingRequest, response: NodeResponse, raw: RawRequestPair): void
  /**
   * Takes all requests of HTTP/1.1 for another protocol, with any target; undefined if these are ordinary ones.
   * The connection is its own from then on, until the server drains.
   */
  readonly handleUpgrade?:
    | ((request: IncomingMessage, addresses: ConnectionAddresses, head: Buffer) => void)
    | undefined
}

/** Returns a callback that passes a converted request to the interceptor, if that takes it, or to `onRequest`. */
export function intercept(
  interceptor: Interceptor | undefined,
  raw: RawRequestPair,
  onRequest: NodeRequestHandler['onRequest'],
): NodeRequestHandler['onRequest'] {
  if (interceptor === undefined) return onRequest
  return (request, response) => {
    if (interceptor.matches(request.head)) interceptor.handle(request, response, raw)
    else onRequest(request, response)
  }
}
