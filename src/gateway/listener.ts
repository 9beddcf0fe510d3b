import type { SecureContextOptions } from 'node:tls'
import type {
  LimitSettings,
  ListenSettings,
  TimeoutSettings,
  TlsSettings,
} from '../config/listen-settings.ts'
import type { Http1ServerHandler, OtherServers } from '../http1/server/connection-set.ts'
import { createHttp1Server, type Http1Server } from '../http1/server/http1-server.ts'
import type { RequestScheduler } from '../http1/server/request-queue.ts'
import type { ConnectionTimeouts } from '../http1/server/connection-state.ts'
import { createHttp1Connections } from '../node-http/http1-connections.ts'
import { createHttp2Connections } from '../node-http/http2-connections.ts'
import type { Interceptor } from '../node-http/interceptor.ts'
import type { NodeRequestHandler } from '../node-http/node-requests.ts'
import { createRequestErrorResponse } from './request-error-response.ts'
import type { RequestHandler, ServedResponse } from './request-handler.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'

/** The settings of the listener and shared parts of the gateway. */
export interface ListenerOptions {
  readonly listen: Pick<ListenSettings, 'http2' | 'h2c' | 'parser'>
  readonly limits: Pick<
    LimitSettings,
    'maxHeaderBytes' | 'maxHeaderCount' | 'maxConnections' | 'maxConnectionsPerAddress'
  >
  readonly timeouts: TimeoutSettings
  readonly scheduler: RequestScheduler
  /** Undefined for plain HTTP. */
  readonly tls: { readonly settings: TlsSettings; readonly context: SecureContextOptions } | undefined
  /** Undefined without pass-through routes. */
  readonly interceptor?: Interceptor
}

/** Receives requests from every server behind the listener. */
interface ListenerHandler
  extends Pick<Http1ServerHandler, 'onConnectionError'>, Pick<RequestHandler, 'refuseConnect'> {
  readonly onRequest: (request: IncomingRequest, response: ServedResponse) => void
}

/**
 * Creates the listener of the gateway, not yet listening. Requests of HTTP/1.1 are parsed here, those of HTTP/2 by node.
 * Bytes that are not a request get a catalog error.
 */
export function createListener(options: ListenerOptions, handler: ListenerHandler): Http1Server {
  const { limits, timeouts, scheduler, tls } = options
  const connectionTimeouts: ConnectionTimeouts = {
    headersTimeoutMs: timeouts.headersTimeoutMs,
    keepAliveTimeoutMs: timeouts.keepAliveTimeoutMs,
    sendTimeoutMs: timeouts.sendTimeoutMs,
    maxConnectionAgeMs: timeouts.maxConnectionAgeMs,
  }
  return createHttp1Server(
    {
      maxHeadBytes: limits.maxHeaderBytes,
      maxConnections: limits.maxConnections,
      maxConnectionsPerAddress: limits.maxConnectionsPerAddress,
      timeouts: connectionTimeouts,
      scheduler,
      tls: tls && { clientCertificate: tls.settings.clientAuth, context: tls.context },
      others: createOtherServers(options, connectionTimeouts, handler),
    },
    {
      onRequest: handler.onRequest,
      onConnectionError: handler.onConnectionError,
      errorResponse: createRequestErrorResponse,
    },
  )
}

function createOtherServers(
  { listen, limits, scheduler, tls, interceptor }: ListenerOptions,
  timeouts: ConnectionTimeouts,
  { onRequest, onConnectionError, refuseConnect }: ListenerHandler,
): OtherServers {
  const { sendTimeoutMs } = timeouts
  const nodeHandler: NodeRequestHandler = {
    scheduler,
    maxHeadBytes: limits.maxHeaderBytes,
    sendTimeoutMs,
    onRequest,
    onConnectionError,
    errorResponse: createRequestErrorResponse,
  }
  const options = {
    maxHeadBytes: limits.maxHeaderBytes,
    maxHeaderCount: limits.maxHeaderCount,
    timeouts,
    interceptor,
  }
  const hasHttp2 = tls === undefined ? listen.h2c : listen.http2
  const hasNodeParser = listen.parser === 'node'
  return {
    http2: hasHttp2 ? createHttp2Connections(options, nodeHandler) : undefined,
    h2c: listen.h2c,
    http1:
      hasNodeParser || interceptor !== undefined
        ? createHttp1Connections(options, { ...nodeHandler, refuseConnect })
        : undefined,
    handsOver: hasNodeParser ? undefined : (target) => interceptor?.matches(target) === true,
  }
}
