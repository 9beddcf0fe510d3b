import { randomUUID } from 'node:crypto'
import { refusal } from '../catalog-api/catalog-error.ts'
import { requestIdHeader } from '../catalog-api/headers.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import type { ErrorResponse, RequestError, RequestErrorReason } from '../http1/server/request-error.ts'
import { maxHeadBytes } from './bounds.ts'

const malformed = 'malformed HTTP request'

const messages: Readonly<Record<Exclude<RequestErrorReason, 'idle_timeout' | 'headers_too_large'>, string>> =
  {
    incomplete_request: malformed,
    malformed_request: malformed,
    request_timeout: 'request timeout',
    tls_on_plain_port: malformed,
  }

/** The response to bytes that are no request; undefined after an idle timeout: the client has sent nothing. */
export function createRequestErrorResponse(error: RequestError): ErrorResponse | undefined {
  const { reason } = error
  if (reason === 'idle_timeout') return undefined
  const requestId = randomUUID()
  const message =
    reason === 'headers_too_large'
      ? `the request line and headers exceed the limit of ${formatBytes(maxHeadBytes)}`
      : messages[reason]
  const refused = refusal(reason, message, { cause: error })
  return {
    status: refused.status,
    headers: ['content-type', 'application/json', requestIdHeader, requestId],
    body: JSON.stringify(refused.toResponse(requestId)),
  }
}
