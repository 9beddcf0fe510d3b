import { z } from 'zod'
import {
  expectHttpsIfTlsFiles,
  findDuplicates,
  isTrustworthyUrl,
  nonEmptyText,
  path,
  refuse,
  tlsFiles,
  trustworthyUrlSchema,
} from '../settings/index.ts'

/** Asymmetric signatures only: with HS*, anyone who knows the public key of the issuer could sign. */
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

/** Name of an identity source; the prefix of its principals and groups. */
export const sourceNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'expected 1 to 63 letters, digits, or any of . _ -')
  .describe('Prefix of the names of its principals and groups: corp:alice.')

export const audienceSchema = z
  .union([nonEmptyText, z.array(nonEmptyText).min(1)], {
    error: 'expected an audience (aud): without it, tokens for other services would be accepted',
  })
  .transform((audience) => (typeof audience === 'string' ? [audience] : audience))
  .describe('Accepted audiences (aud claim).')

const algorithmsSchema = z
  .array(
    z.enum(algorithms, `expected asymmetric algorithms only, in this spelling: ${algorithms.join(', ')}`),
  )
  .min(1)
  .default([...algorithms])
  .describe('Accepted signature algorithms; default: all of these, with keys that are strong enough.')

const claimPathSchema = z
  .string('expected the name of a claim; a dot selects a nested member: realm_access.roles')
  .min(1)

const claimFields = {
  subjectClaim: claimPathSchema
    .default('sub')
    .describe('Claim with the name of the caller. A dot selects a nested member, or belongs to a name.'),
  groupsClaim: claimPathSchema
    .optional()
    .describe(
      'Claim with the groups of the caller, as subjectClaim: resource_access.my.client.roles. The text of scope or scp is a list separated by spaces.',
    ),
}

const remoteJwksSchema = z.strictObject({
  url: trustworthyUrlSchema
    .optional()
    .describe('URL of the JWKS (jwks_uri); by default discovered from the issuer.'),
})

const jwksFileSchema = z.strictObject({
  file: path.describe('JWKS file; reloaded when it changes.'),
})

const tokenIssuerSchema = z
  .strictObject({
    name: sourceNameSchema,
    issuer: nonEmptyText.describe('Expected iss claim.'),
    audience: audienceSchema,
    algorithms: algorithmsSchema,
    jwks: z.union([remoteJwksSchema, jwksFileSchema]).prefault({}),
    caFile: tlsFiles.caFile,
    ...claimFields,
    maxLifetimeSeconds: z
      .number()
      .positive()
      .optional()
      .describe('Maximum lifetime of tokens; tokens without iat are then rejected.'),
  })
  .refine(({ issuer, jwks }) => 'file' in jwks || jwks.url !== undefined || isTrustworthyUrl(issuer), {
    path: ['jwks'],
    message: 'expected url or file: only the metadata of an issuer with an https URL can be discovered',
  })
  .refine(
    ({ caFile, issuer, jwks }) =>
      caFile === undefined || (!('file' in jwks) && (jwks.url ?? issuer).startsWith('https:')),
    {
      path: ['caFile'],
      message: 'is for keys that are fetched by https; expected an https issuer, or jwks.url with https',
    },
  )

export const tokenIssuersSchema = z
  .array(tokenIssuerSchema)
  .superRefine(refuse((issuers) => findDuplicates(issuers, 'name', 'name of an issuer')))
  .superRefine(refuse((issuers) => findDuplicates(issuers, 'issuer', 'issuer')))

export type TokenIssuerInput = z.input<typeof tokenIssuerSchema>

export type TokenIssuer = z.output<typeof tokenIssuerSchema>

/** Authorization server for opaque tokens (RFC 7662); at most one. */
export const introspectionSchema = z
  .strictObject({
    name: sourceNameSchema,
    url: trustworthyUrlSchema.describe('The introspection endpoint.'),
    caFile: tlsFiles.caFile,
    issuer: nonEmptyText.describe('Expected iss of the response, if it has one.'),
    audience: audienceSchema,
    clientId: nonEmptyText.describe('Client id for HTTP Basic authentication of the gateway.'),
    clientSecretFile: path.describe('File with the client secret.'),
    ...claimFields,
  })
  .superRefine(expectHttpsIfTlsFiles)

export type IntrospectionSettings = z.output<typeof introspectionSchema>
