import { toError } from '../lib/index.ts'
import { AuthenticationError } from './authentication-error.ts'
import { isValidPrincipalName } from './jwt/claims.ts'
import type { Principal } from './principal.ts'

/** A caller that an embedding application has authenticated. */
export interface ApplicationPrincipal {
  /** Policies name it with a prefix: `app:alice`. */
  readonly name: string
  /** Policies name each with a prefix: `app:sales`. */
  readonly groups?: readonly string[]
  /** Further facts about the caller, for the conditions of policies. */
  readonly claims?: Readonly<Record<string, unknown>>
}

const issuer = 'app'

/**
 * Finds the principal of a request by the authentication of the application. Rejects with AuthenticationError: 401 if it
 * returns undefined, 503 if it throws or returns something else than a principal.
 */
export async function authenticateByApplication(
  authenticate: () => ApplicationPrincipal | undefined | Promise<ApplicationPrincipal | undefined>,
): Promise<Principal> {
  let found: ApplicationPrincipal | undefined
  try {
    found = await authenticate()
  } catch (error) {
    throw new AuthenticationError('application_failed', toError(error))
  }
  if (found === undefined || found === null) throw new AuthenticationError('application_refused')
  const { name, groups = [], claims } = found
  if (!isValidPrincipalName(name) || !Array.isArray(groups) || !groups.every(isValidPrincipalName))
    throw new AuthenticationError('application_failed', new Error('name and groups must be names'))
  return {
    name: `${issuer}:${name}`,
    method: 'application',
    groups: new Set(groups.map((group) => `${issuer}:${group}`)),
    credentialId: '',
    issuer,
    ...(claims && { claims }),
  }
}
