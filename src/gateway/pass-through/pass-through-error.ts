import { refusal, type CatalogError } from '../../catalog-api/catalog-error.ts'
import { toCatalogError } from '../error-response.ts'

const messages = {
  upstream_connect_timeout: 'upstream connect timeout',
  upstream_timeout: 'the upstream did not respond in time',
  upstream_unreachable: 'the upstream could not be reached, or closed the connection',
} as const

/** Codes of undici and of Node.js, by the reason that the client gets. */
const reasonByCode: Readonly<Record<string, keyof typeof messages>> = {
  CONNECT_TIMEOUT: 'upstream_connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'upstream_timeout',
  ETIMEDOUT: 'upstream_connect_timeout',
}

/** The error that a client gets for a request that failed at its upstream: 502 or 504. The plugin wraps causes. */
export function toUpstreamFailure(error: unknown): CatalogError {
  let cause = error
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason = reasonByCode[code] ?? 'upstream_unreachable'
  return refusal(reason, messages[reason], { cause })
}

/** The error that a client gets for any other: internal, or that of what it sent. */
export function toPassThroughError(error: unknown): CatalogError {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 0
  return status >= 400 && status < 500
    ? refusal('invalid_request', 'the request cannot be forwarded as it was sent', { cause: error })
    : toCatalogError(error)
}
