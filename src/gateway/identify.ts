import type { Authenticator } from '../identity/authenticate.ts'
import type { Principal } from '../identity/principal.ts'
import { AuthenticationRefused } from '../identity/refusal.ts'
import type { FailedAuthentications } from '../limits/failed-authentications.ts'
import type { Matched } from './stages.ts'

/**
 * The stage that tells who calls. An address whose credentials were refused too often is not asked for a while. A
 * promise only where it must wait. Throws or rejects with AuthenticationRefused (401, 400, 503), or throws
 * LimitReached (429).
 */
export function identify(
  { credentials, client }: Matched,
  authenticator: Authenticator,
  authentications: FailedAuthentications,
): Principal | Promise<Principal> {
  authentications.assertMayTry(client)
  const refused = (error: unknown): never => {
    // That an issuer does not answer says nothing about the credential.
    const isFault = error instanceof AuthenticationRefused && error.kind !== 'ServiceUnavailable'
    if (isFault) authentications.failed(client)
    throw error
  }
  try {
    const caller = authenticator.authenticate(credentials)
    return caller instanceof Promise ? caller.catch(refused) : caller
  } catch (error) {
    return refused(error)
  }
}
