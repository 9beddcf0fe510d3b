import { z } from 'zod'
import { isTrustworthyUrl, trustworthyUrl } from './trustworthy-url.ts'

/** Asymmetric signatures only: with HS*, whoever knows the issuer's public key could sign. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const

const text = z.string().min(1)
const daySeconds = 86_400

/** The name of who vouches for callers; it stands before the names of their principals and groups. */
export const sourceName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'expected 1 to 63 letters, digits, or any of . _ -')
  .describe('Stands before the names of its principals and groups: corp:alice.')

/** For whom tokens must be made. */
export const audienceSchema = z
  .union([text, z.array(text).min(1)], {
    error: 'expected for whom tokens must be made (aud): without it, a token for anybody else would do',
  })
  .transform((audience) => (typeof audience === 'string' ? [audience] : audience))
  .describe('One of them must be in the claim aud.')

/** The algorithms that an issuer may sign with. */
export const algorithmsSchema = z
  .array(z.enum(algorithms, { error: `expected asymmetric algorithms only: ${algorithms.join(', ')}` }))
  .min(1)
  .describe('The algorithms of signatures that are accepted.')

/** How far the clocks of issuer and gateway may differ. */
export const clockSkewSeconds = z
  .number()
  .min(0)
  .max(300)
  .default(30)
  .describe('How far the clocks of the issuer and the gateway may differ.')

/** When keys are fetched, wherever they come from. */
export const keyTimes = {
  refreshSeconds: z.number().positive().max(daySeconds).default(600).describe('How old keys may get.'),
  cooldownSeconds: z
    .number()
    .positive()
    .max(daySeconds)
    .default(30)
    .describe('Tokens with unknown keys cause one fetch in this time.'),
  maxStaleSeconds: z
    .number()
    .positive()
    .default(daySeconds)
    .describe('How long the last keys serve while the issuer cannot be reached.'),
  timeoutSeconds: z.number().positive().max(60).default(5).describe('For the keys to arrive.'),
}

const remoteKeysSchema = z.strictObject({
  url: trustworthyUrl
    .optional()
    .describe('Where the issuer publishes its keys (jwks_uri); without it, that is asked of the issuer.'),
  ...keyTimes,
})

const keyFileSchema = z.strictObject({
  file: text.describe('A JSON Web Key Set on disk, followed when it changes.'),
})

const tokenIssuerSchema = z
  .strictObject({
    name: sourceName,
    issuer: text.describe('The claim iss, exactly.'),
    audience: audienceSchema,
    algorithms: algorithmsSchema,
    jwks: z.union([remoteKeysSchema, keyFileSchema]).prefault({}),
    subjectClaim: text.default('sub').describe('The claim that names the caller; dots lead into objects.'),
    groupsClaim: text.optional().describe('The claim that lists the groups of the caller, likewise.'),
    clockSkewSeconds,
    maxLifetimeSeconds: z
      .number()
      .positive()
      .optional()
      .describe('Refuses tokens that are valid for longer, or do not say since when (iat).'),
  })
  .refine(({ issuer, jwks }) => 'file' in jwks || jwks.url !== undefined || isTrustworthyUrl(issuer), {
    path: ['jwks'],
    message: 'expected url or file: only an issuer that is an https URL can be asked where its keys are',
  })

/** The configured issuers of tokens: strict, with defaults, no two of one name or one `iss`. */
export const tokenIssuersSchema = z.array(tokenIssuerSchema).superRefine((issuers, context) => {
  for (const member of ['name', 'issuer'] as const) {
    const seen = new Set<string>()
    for (const [index, issuer] of issuers.entries()) {
      if (seen.has(issuer[member])) {
        context.addIssue({ code: 'custom', path: [index, member], message: 'another issuer has the same' })
      }
      seen.add(issuer[member])
    }
  }
})

/** An issuer of tokens as an operator writes it. */
export type TokenIssuerInput = z.input<typeof tokenIssuerSchema>

/** An issuer of tokens, checked and with all defaults. */
export type TokenIssuer = z.output<typeof tokenIssuerSchema>

/** When to fetch the keys of an issuer; all in seconds. */
export type KeyTimes = Omit<z.output<typeof remoteKeysSchema>, 'url'>
