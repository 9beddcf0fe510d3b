import { AuthenticationError, type Authenticator, type Principal } from '../../identity/index.ts'
import type { FailedAuthentications } from '../../limits/limits.ts'
import { assertSameSite, type CrossSiteOptions } from '../assert-same-site.ts'
import { advance, type Authenticated, type Received } from '../context.ts'

export interface AuthenticateOptions extends CrossSiteOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>
  readonly failedAuthentications: FailedAuthentications
}

/**
 * Stage 3: finds the principal of the credentials. Rejects with AuthenticationError (400, 401, 503), or with
 * LimitExceeded (429) if too many credentials from the address were refused, or with CrossSiteError (403) for a credential
 * that a browser added to the request of another site.
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
  assertSameSite(request.head, principal, options)
  return advance(request, { principal })
}
