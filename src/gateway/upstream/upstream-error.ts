import { findHeader } from '../../lib/http/header-list.ts'
import { CatalogError, refusal, type ErrorName } from '../../catalog-api/catalog-error.ts'
import { challenge } from '../../identity/index.ts'
import { parseErrorResponse } from '../../catalog-api/responses/read-error-response.ts'
import { lancedbServerHeader } from '../../catalog-api/headers.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { getContentCoding } from './content-coding.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamResponse } from './upstream-attempt.ts'

const missingOperation = 'the upstream does not have this operation'

/** Headers of an error response that the gateway forwards with its own error. */
const forwardedErrorHeaders = ['retry-after', 'content-range', lancedbServerHeader]

/**
 * Converts an error response of the upstream, in whatever format (HTML, truncated, compressed, empty), to an error of
 * the interface. The code is preserved, and for client errors the first line of the message without paths, and the context;
 * everything else becomes the `cause`, for the log. If the upstream rejects the credential of the gateway, the error is 502; if it
 * rejects that of the caller, 401. `reads` is that of `parseErrorResponse`.
 */
export function createUpstreamError(
  { status, headers, body }: UpstreamResponse,
  upstream: Pick<Upstream, 'forwardsCredential' | 'getOwnHeaders'>,
  sent: readonly string[],
  reads: 'all' | 'code' = 'all',
): CatalogError {
  const own = [...sent, ...upstream.getOwnHeaders()]
  const { kind, message, context, cause } = parseErrorResponse(status, body, own, reads)
  if (status === 407 || (status === 401 && !upstream.forwardsCredential))
    return refusal('upstream_credential_rejected', 'the upstream rejected the credential of the gateway', {
      cause,
    })
  if (status < 400)
    return refusal('upstream_redirect', 'the catalog responded with a redirect, which is not followed', {
      cause,
    })
  // With its usual status, not 501: a failure might be retried, and would count as one.
  if (kind === 'Unsupported' && status >= 500) return new CatalogError(kind, missingOperation, { cause })
  const retained = forwardedErrorHeaders.flatMap((name): [string, string][] => {
    const value = findHeader(headers, name)
    return value === undefined ? [] : [[name, value]]
  })
  return new CatalogError(kind, createErrorMessage(kind, status, message, getContentCoding(headers)), {
    status,
    headers: {
      ...Object.fromEntries(retained),
      ...(status === 401 && challenge),
    },
    ...(status < 500 && { context }),
    cause,
  })
}

function createErrorMessage(
  kind: ErrorName,
  status: number,
  sent: string | undefined,
  coding: string | undefined,
): string {
  if (status >= 500) return 'the upstream failed to process the request'
  if (sent !== undefined) return sent
  if (kind === 'Unsupported' && status === 406 && coding === undefined) return missingOperation
  const refused = `the upstream refused the request with status ${status}`
  return coding === undefined
    ? refused
    : `${refused}; its body has the content-encoding ${quoteForMessage(coding)}, expected none, as requested`
}
