import { randomUUID } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import type { LimitSettings, TimeoutSettings, TlsSettings } from '../config/listen-settings.ts'
import type { ErrorResponse } from '../http1/server/error-response.ts'
import { createHttp1Server, type Http1Server, type Http1ServerHandler } from '../http1/server/http1-server.ts'
import type { RequestError, RequestErrorReason } from '../http1/server/request-error.ts'
import type { RequestScheduler } from '../http1/server/request-queue.ts'
import { refusal } from '../catalog-api/catalog-error.ts'
import { requestIdHeader } from '../catalog-api/headers.ts'

/** The settings of the listener and shared parts of the gateway. */
export interface ListenerOptions {
  readonly limits: Pick<LimitSettings, 'maxHeaderBytes' | 'maxConnections' | 'maxConnectionsPerAddress'>
  readonly timeouts: TimeoutSettings
  readonly scheduler: RequestScheduler
  /** Undefined for plain HTTP. */
  readonly tls: { readonly settings: TlsSettings; readonly context: SecureContextOptions } | undefined
}

/** Creates the HTTP/1.1 server of the gateway, not yet listening. Bytes that are not a request get a catalog error. */
export function createListener(
  { limits, timeouts, scheduler, tls }: ListenerOptions,
  handler: Pick<Http1ServerHandler, 'onRequest' | 'onConnectionError'>,
): Http1Server {
  return createHttp1Server(
    {
      maxHeadBytes: limits.maxHeaderBytes,
      maxConnections: limits.maxConnections,
      maxConnectionsPerAddress: limits.maxConnectionsPerAddress,
      timeouts: {
        headersTimeoutMs: timeouts.headersTimeoutMs,
        keepAliveTimeoutMs: timeouts.keepAliveTimeoutMs,
        sendTimeoutMs: timeouts.sendTimeoutMs,
        maxConnectionAgeMs: timeouts.maxConnectionAgeMs,
      },
      scheduler,
      tls: tls && { clientCertificate: tls.settings.clientAuth, context: tls.context },
    },
    { ...handler, errorResponse },
  )
}

const malformed = 'malformed HTTP/1.1 request'

const messages: Readonly<Record<Exclude<RequestErrorReason, 'idle_timeout'>, string>> = {
  headers_too_large: 'the request head is too large',
  incomplete_request: malformed,
  malformed_request: malformed,
  request_timeout: 'request timeout',
  tls_on_plain_port: malformed,
}

/** No response after an idle timeout: the client has sent nothing. */
function errorResponse(error: RequestError): ErrorResponse | undefined {
  const { reason } = error
  if (reason === 'idle_timeout') return undefined
  const requestId = randomUUID()
  const refused = refusal(reason, messages[reason], { cause: error })
  return {
    status: refused.status,
    headers: ['content-type', 'application/json', requestIdHeader, requestId],
    body: JSON.stringify(refused.toResponse(requestId)),
  }
}
