import type { ConnectionTimeouts } from '../http1/server/connection-state.ts'
import type { RequestHead } from '../http1/server/request-head.ts'
import type { RequestScheduler } from '../http1/server/request-queue.ts'
import type { ConnectionServer } from '../http1/server/served-connection.ts'
import { createHttp1Connections } from '../node-http/http1-connections.ts'
import { createHttp2Connections } from '../node-http/http2-connections.ts'
import type { Interceptor } from '../node-http/interceptor.ts'
import type { NodeRequestHandler } from '../node-http/node-requests.ts'
import type { ListenerHandler } from './listener-handler.ts'

/** Servers of node that get connections which the listener has accepted. */
export interface OtherServers {
  /** Of HTTP/2; with TLS, it is offered by ALPN. */
  readonly http2: ConnectionServer | undefined
  /** Without TLS: whether a connection that begins with the preface of HTTP/2 gets it (RFC 9113, section 3.3). */
  readonly h2c: boolean
  /** Of HTTP/1.1, by node's parser. */
  readonly http1: ConnectionServer | undefined
  /** Which requests take a connection to `http1`; undefined: it gets every connection, from the start. */
  readonly handsOver: ((head: RequestHead) => boolean) | undefined
}

export interface OtherServersOptions {
  readonly maxHeadBytes: number
  /** Over HTTP/2. */
  readonly maxHeaderCount: number
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
  readonly http2: boolean
  readonly h2c: boolean
  /** Of HTTP/1.1: that of http1/, or node's. */
  readonly parser: 'own' | 'node'
  /** Takes requests that are not for the handler; those of HTTP/1.1 are parsed by node then. */
  readonly interceptor: Interceptor | undefined
}

export function createOtherServers(
  { maxHeadBytes, maxHeaderCount, timeouts, scheduler, http2, h2c, parser, interceptor }: OtherServersOptions,
  { onRequest, onConnectionError, errorResponse, refuseConnect }: ListenerHandler,
): OtherServers {
  const handler: NodeRequestHandler = {
    scheduler,
    maxHeadBytes,
    sendTimeoutMs: timeouts.sendTimeoutMs,
    onRequest,
    onConnectionError,
    errorResponse,
  }
  const options = { maxHeadBytes, maxHeaderCount, timeouts, interceptor }
  const hasNodeParser = parser === 'node'
  return {
    http2: http2 ? createHttp2Connections(options, handler) : undefined,
    h2c,
    http1:
      hasNodeParser || interceptor !== undefined
        ? createHttp1Connections(options, { ...handler, refuseConnect })
        : undefined,
    handsOver: hasNodeParser ? undefined : (head) => interceptor?.matches(head) === true,
  }
}
