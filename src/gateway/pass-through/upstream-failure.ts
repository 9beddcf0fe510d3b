import { CatalogError, refusal, type RefusalReason } from '../../catalog-api/catalog-error.ts'
import { ClientDisconnected } from '../client-disconnected.ts'

/** Codes of undici and of Node.js, by the reason that the client gets. */
const reasonByCode: Readonly<Record<string, RefusalReason>> = {
  CONNECT_TIMEOUT: 'upstream_connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'upstream_timeout',
  ETIMEDOUT: 'upstream_connect_timeout',
}

const messages: Readonly<Partial<Record<RefusalReason, string>>> = {
  upstream_connect_timeout: 'upstream connect timeout',
  upstream_timeout: 'the upstream did not respond in time',
}

/**
 * The error that a client gets for a request that failed: 502 or 504, or the error of its own body. @fastify/http-proxy
 * wraps errors in others, as their causes.
 */
export function toPassThroughError(error: unknown): Error {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof CatalogError || cause instanceof ClientDisconnected) return cause
    if (isRefusedByPlugin(cause)) {
      return refusal('invalid_request', 'the request cannot be forwarded as it was sent', { cause })
    }
    const reason = 'code' in cause ? reasonByCode[String(cause.code)] : undefined
    if (reason !== undefined) return refusal(reason, messages[reason] ?? reason, { cause })
  }
  const message = 'the upstream could not be reached, or closed the connection'
  return refusal('upstream_unreachable', message, { cause: innermostCause(error) })
}

function isRefusedByPlugin(error: Error): boolean {
  const status = 'statusCode' in error ? Number(error.statusCode) : 0
  return status >= 400 && status < 500
}

function innermostCause(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? innermostCause(error.cause) : error
}
