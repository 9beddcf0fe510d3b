import { onTestFinished } from 'vitest'
import {
  createAuthenticator,
  type Authenticator,
  type AuthenticatorOptions,
} from '../../src/identity/authenticate.ts'
import type { Principal } from '../../src/identity/principal.ts'
import { AuthenticationError } from '../../src/identity/authentication-error.ts'

/** Opens an authenticator and closes it at the end of the test. */
export async function openAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const authenticator = await createAuthenticator({ reloadIntervalMs: 10, ...options })
  onTestFinished(() => authenticator.close())
  return authenticator
}

export async function authenticateBearer(authenticator: Authenticator, token: string): Promise<Principal> {
  return await authenticator.authenticate({ apiKey: undefined, authorization: `Bearer ${token}` })
}

export async function authenticateApiKey(authenticator: Authenticator, text: string): Promise<Principal> {
  return await authenticator.authenticate({ apiKey: text, authorization: undefined })
}

export async function captureError(attempt: Promise<Principal>): Promise<AuthenticationError> {
  const outcome = await attempt.catch((error: unknown) => error)
  if (outcome instanceof AuthenticationError) return outcome
  throw new Error('Expected a refusal', { cause: outcome })
}

export async function captureReason(attempt: Promise<Principal>): Promise<string> {
  return (await captureError(attempt)).reason
}
