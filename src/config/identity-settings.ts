import { z } from 'zod'
import { nonEmptyText, path, refuse, type SettingProblem } from '../settings/index.ts'
import {
  audienceSchema,
  introspectionSchema,
  sourceNameSchema,
  tokenIssuersSchema,
} from './token-issuer-settings.ts'

/** A principal or a group of API keys. A `:` is not allowed: it is reserved for names from tokens. */
export const apiKeyNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected 1 to 128 letters, digits, or any of . _ @ -')

/** Records, limits and the console give callers without a credential this name. */
export const keyPrincipalSchema = apiKeyNameSchema.refine(
  (name) => name !== 'anonymous',
  'anonymous is the name of callers without a credential; choose another one',
)

const bootstrapKeySchema = z
  .strictObject({
    file: path.describe('File with the key: 32 to 256 printable characters without spaces. Read at startup.'),
    principal: keyPrincipalSchema.describe('Principal of the key.'),
    groups: z.array(apiKeyNameSchema).default([]).describe('Groups of the principal.'),
  })
  .describe(
    'One API key in a file instead of a key store, for the first calls of a new installation. It never expires.',
  )

export type BootstrapKeySettings = z.output<typeof bootstrapKeySchema>

const clientCertificatesSchema = z
  .strictObject({ name: sourceNameSchema })
  .describe('Callers are identified by the one URI among the subject alternative names, such as a SPIFFE id.')

export type ClientCertificateSettings = z.output<typeof clientCertificatesSchema>

/** The service accounts of the Kubernetes cluster that the gateway runs in. */
export const kubernetesSchema = z.strictObject({
  name: sourceNameSchema,
  audience: audienceSchema,
  issuer: nonEmptyText
    .default('https://kubernetes.default.svc.cluster.local')
    .describe('Issuer of the cluster (--service-account-issuer).'),
})

export type KubernetesSettings = z.output<typeof kubernetesSchema>

const assertionSchema = z.strictObject({
  issuer: nonEmptyText.describe('The iss claim: identifies this gateway to upstreams, such as its URL.'),
  keyFile: path.describe(
    'Ed25519 private key that signs (PKCS #8, PEM), read at startup. Keys that follow it, private or public, are only ' +
      'published in the JWKS, for key rotation.',
  ),
})

export type AssertionSettings = z.output<typeof assertionSchema>

const identityFields = z.strictObject({
  apiKeys: z
    .strictObject({
      store: path.describe('Key store written by `keys create`, or a folder of key stores.'),
      pepperFile: path.describe('File with the pepper of the hashes in the store, at least 32 bytes.'),
    })
    .optional(),
  bootstrapKey: bootstrapKeySchema.optional(),
  issuers: tokenIssuersSchema.default([]).describe('Trusted token issuers.'),
  kubernetes: kubernetesSchema.optional(),
  introspection: introspectionSchema.optional(),
  clientCertificates: clientCertificatesSchema.optional(),
  anonymous: z
    .boolean()
    .optional()
    .describe(
      'Whether requests without a credential are accepted, subject to rules with "anonymous: true"; default false.',
    ),
  assertion: assertionSchema.optional(),
})

export type IdentitySettings = z.output<typeof identityFields>

export const identitySchema = identityFields
  .refine(
    ({
      apiKeys,
      bootstrapKey,
      issuers: [issuer],
      kubernetes,
      introspection,
      clientCertificates,
      anonymous,
    }) => apiKeys ?? bootstrapKey ?? issuer ?? kubernetes ?? introspection ?? clientCertificates ?? anonymous,
    'no way to authenticate: expected apiKeys, bootstrapKey, issuers, kubernetes, introspection, clientCertificates or anonymous',
  )
  .superRefine(refuse(findSharedNames))

/** Names of the sources of principals, which prefix the names of their principals and groups. */
export function listIssuerNames({
  issuers,
  kubernetes,
  introspection,
  clientCertificates,
}: IdentitySettings): readonly string[] {
  return [...issuers, kubernetes, introspection, clientCertificates].flatMap((source) => source?.name ?? [])
}

/**
 * Two sources with one name could name each other's principals. Only an issuer may have two: one for its signed tokens,
 * one for its opaque ones.
 */
function* findSharedNames({ issuers, ...others }: IdentitySettings): Generator<SettingProblem> {
  const { kubernetes, introspection, clientCertificates } = others
  const names = new Map(issuers.map(({ name, issuer }) => [name, issuer]))
  for (const [section, source] of Object.entries({ kubernetes, introspection, clientCertificates })) {
    if (source === undefined) continue
    const isOfIssuer = source === introspection && names.get(source.name) === introspection.issuer
    if (names.has(source.name) && !isOfIssuer)
      yield { path: [section, 'name'], message: 'duplicate name of an identity source' }
    names.set(source.name, '')
  }
  if (issuers.some(({ issuer }) => issuer === kubernetes?.issuer))
    yield { path: ['kubernetes', 'issuer'], message: 'duplicate issuer, also in issuers' }
}
