import type { AssertionSettings } from '../identity/assertion-settings.ts'

/** What an upstream is told of the caller: nothing, the credential that was sent, or a signed assertion. */
export const callerIdentities = ['none', 'original', 'assertion'] as const

/** One of them. */
export type CallerIdentity = (typeof callerIdentities)[number]

/** What is wrong with the settings of an upstream that is told of the caller in this way. */
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
