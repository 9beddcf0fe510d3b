import { randomUUID } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import type { LimitSettings, TimeoutSettings, TlsSettings } from '../config/listen-settings.ts'
import type { ErrorResponse } from '../http1/server/error-response.ts'
import { createHttp1Server, type Http1Server, type Http1ServerHandler } from '../http1/server/http1-server.ts'
import type { RequestError, RequestErrorReason } from '../http1/server/request-error.ts'
import type { RequestScheduler } from '../http1/server/request-queue.ts'
import { requestIdHeader } from '../interface/headers.ts'
import { unparsedRefusal, type Unparsed } from '../interface/unparsed-requests.ts'

/** The settings of the listener, and what is shared with the rest of the gateway. */
export interface ListenerOptions {
  readonly limits: Pick<LimitSettings, 'headerBytes' | 'connections' | 'connectionsPerClient'>
  readonly timeouts: TimeoutSettings
  readonly scheduler: RequestScheduler
  /** Undefined for plain HTTP. */
  readonly tls: { readonly settings: TlsSettings; readonly context: SecureContextOptions } | undefined
}

/** The HTTP/1.1 server of the gateway, before it listens. Bytes that are not a request get a catalog error. */
export function createListener(
  { limits, timeouts, scheduler, tls }: ListenerOptions,
  handler: Pick<Http1ServerHandler, 'onRequest' | 'onConnectionError'>,
): Http1Server {
  return createHttp1Server(
    {
      maxHeadBytes: limits.headerBytes,
      maxConnections: limits.connections,
      maxConnectionsPerAddress: limits.connectionsPerClient,
      timeouts: {
        headersTimeoutMs: timeouts.headersMs,
        keepAliveTimeoutMs: timeouts.keepAliveMs,
        sendTimeoutMs: timeouts.unreadMs,
        maxConnectionAgeMs: timeouts.maxConnectionAgeMs,
      },
      scheduler,
      tls: tls && { clientCertificate: tls.settings.clientCertificate, context: tls.context },
    },
    { ...handler, errorResponse },
  )
}

/** No response after `idle_timeout`: the client has sent nothing. */
const responses: Readonly<Record<RequestErrorReason, Unparsed | undefined>> = {
  request_timeout: 'too slow',
  headers_too_large: 'too large',
  idle_timeout: undefined,
  incomplete_request: 'malformed',
  malformed_request: 'malformed',
  tls_on_plain_port: 'malformed',
}

function errorResponse(error: RequestError): ErrorResponse | undefined {
  const kind = responses[error.reason]
  if (kind === undefined) return undefined
  const requestId = randomUUID()
  const refusal = unparsedRefusal(kind, error)
  return {
    status: refusal.status,
    headers: ['content-type', 'application/json', requestIdHeader, requestId],
    body: JSON.stringify(refusal.toResponse(requestId)),
  }
}
