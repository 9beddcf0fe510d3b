import type { AssertionSettings } from '../identity/assertion-settings.ts'

/** How the caller is identified to an upstream: not at all, by its own credential, or by a signed assertion. */
export const callerIdentities = ['none', 'original', 'assertion'] as const

export type CallerIdentity = (typeof callerIdentities)[number]

/** Returns why the upstream cannot identify the caller in this way; undefined if it can. */
export function findCallerIdentityProblem(
  upstream: {
    readonly identity: CallerIdentity
    readonly credential?: { readonly header: string } | undefined
  },
  assertion: Pick<AssertionSettings, 'header'> | undefined,
): string | undefined {
  const { identity, credential } = upstream
  if (identity === 'original' && credential !== undefined) {
    return 'expected none or assertion: the credential of the caller cannot be sent together with that of the gateway'
  }
  if (identity !== 'assertion') return undefined
  if (assertion === undefined) return 'expected identity.assertion with the signing key'
  if (assertion.header !== credential?.header) return undefined
  return 'the assertion and the credential are sent in the same header; expected another identity.assertion.header'
}
