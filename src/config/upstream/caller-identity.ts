import type { AssertionSettings } from '../identity/assertion-settings.ts'

/** How the caller is identified to an upstream: not at all, by its own credential, or by a signed assertion. */
export const callerIdentities = ['none', 'original', 'assertion'] as const

export type CallerIdentity = (typeof callerIdentities)[number]

/** Returns why the upstream cannot identify the caller in this way; undefined if it can. */
export function findCallerIdentityProblem(
  upstream: {
    readonly identity: CallerIdentity
    readonly credential?: object | undefined
  },
  assertion: AssertionSettings | undefined,
): string | undefined {
  const { identity, credential } = upstream
  if (identity === 'original' && credential !== undefined) {
    return 'expected none or assertion: the credential of the caller cannot be sent together with that of the gateway'
  }
  const isKeyMissing = identity === 'assertion' && assertion === undefined
  return isKeyMissing ? 'expected identity.assertion with the signing key' : undefined
}
