import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { challenge } from '../../identity/authentication-error.ts'
import { parseErrorResponse } from '../../catalog-api/responses/read-error-response.ts'
import { lancedbServerHeader } from '../../catalog-api/headers.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamResponse } from './upstream-attempt.ts'

/** Headers of an error response that the gateway forwards with its own error. */
const forwardedErrorHeaders = ['retry-after', lancedbServerHeader]

/**
 * Converts an error response of the upstream, in whatever format (HTML, truncated, compressed, empty), to an error of
 * the interface. The code is preserved, and for client errors the first line of the message without paths; everything
 * else becomes the `cause`, for the log. If the upstream rejects the credential of the gateway, the error is 502; if it
 * rejects that of the caller, 401.
 */
export function createUpstreamError(
  { status, headers, body }: UpstreamResponse,
  upstream: Pick<Upstream, 'forwardsCredential'>,
  sent: readonly string[],
): CatalogError {
  const { kind, message, cause } = parseErrorResponse(status, body, sent)
  if (status === 407 || (status === 401 && !upstream.forwardsCredential))
    return refusal('upstream_credential_rejected', 'the upstream rejected the credential of the gateway', {
      cause,
    })
  if (status < 400)
    return refusal('upstream_redirect', 'the catalog responded with a redirect, which is not followed', {
      cause,
    })
  const retained = forwardedErrorHeaders.flatMap((name): [string, string][] => {
    const value = getHeaderValue(headers, name)
    return value === undefined ? [] : [[name, value]]
  })
  return new CatalogError(kind, createErrorMessage(status, message), {
    status,
    headers: {
      ...Object.fromEntries(retained),
      ...(status === 401 && challenge),
    },
    cause,
  })
}

function createErrorMessage(status: number, sent: string | undefined): string {
  if (status >= 500) return 'the upstream failed to process the request'
  return sent ?? `the upstream refused the request with status ${status}`
}

function getHeaderValue(headers: readonly string[], name: string): string | undefined {
  const index = headers.findIndex((header, position) => position % 2 === 0 && header === name)
  return index === -1 ? undefined : headers[index + 1]
}
