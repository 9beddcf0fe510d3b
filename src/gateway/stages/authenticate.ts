import { AuthenticationError, type Authenticator, type Principal } from '../../identity/index.ts'
import type { Limits } from '../../limits/index.ts'
import { advance, type Authenticated, type Received } from '../context.ts'
import { quoteForMessage, refusal } from '../../catalog-api/index.ts'
import { isCrossSite } from '../../lib/index.ts'
import type { Scheme } from './receive.ts'

export interface AuthenticateOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>
  readonly failedAuthentications: Limits['failedAuthentications']
  /** Scheme of the listener. */
  readonly scheme: Scheme
  /** Origins whose pages may use the credentials that browsers add. */
  readonly allowedOrigins: ReadonlySet<string>
}

/**
 * Stage 3: finds the principal of the credentials. Rejects with AuthenticationError (400, 401, 503), or with
 * LimitExceeded (429) if too many credentials from the address were refused, or with PermissionDenied (403) for a credential
 * that a browser added to the request of another site: its caller did nothing wrong, and is known.
 */
export async function authenticate<Request extends Received>(
  request: Request,
  options: AuthenticateOptions,
): Promise<Request & Pick<Authenticated, 'principal'>> {
  const { authenticator, failedAuthentications } = options
  const { client, credentials } = request.head
  failedAuthentications.assertAllowed(client)
  let principal: Principal
  try {
    principal = await authenticator.authenticate(credentials)
  } catch (error) {
    // An issuer that does not respond says nothing about the credential.
    const isRefused = error instanceof AuthenticationError && error.kind !== 'ServiceUnavailable'
    if (isRefused) failedAuthentications.recordFailure(client)
    throw error
  }
  const authenticated = advance(request, { principal })
  assertSameSite(authenticated, options)
  return authenticated
}

/** Sent in a header that browsers never add, and that a page can send to another site only if that permits it. */
const explicitMethods: ReadonlySet<Principal['method']> = new Set(['api-key', 'token'])

/**
 * Whether a browser adds the credential to the requests of any page: a certificate, what an embedding application
 * authenticates by, such as a cookie, or only the address of the client.
 */
export function isAddedByBrowser({ method }: Principal): boolean {
  return !explicitMethods.has(method)
}

/** Throws PermissionDenied (403) for a request of another site with a credential that its browser added. */
function assertSameSite(
  { head: { host, page }, principal }: Pick<Authenticated, 'head' | 'principal'>,
  { scheme, allowedOrigins }: AuthenticateOptions,
): void {
  if (page === undefined || !isAddedByBrowser(principal) || !isCrossSite(page, host, scheme)) return
  if (page.origin !== undefined && allowedOrigins.has(page.origin)) return
  const from = page.origin === undefined ? 'another site' : quoteForMessage(page.origin)
  const message =
    `a page of ${from} sent this request with a credential that browsers add; ` +
    'expected a page of this host, or an API key or a bearer token'
  throw refusal('cross_site', message)
}
