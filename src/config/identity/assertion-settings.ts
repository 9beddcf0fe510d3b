import { z } from 'zod'
import { assertionHeader } from '../../catalog-api/headers.ts'

const path = z.string().min(1)

export const assertionSchema = z.strictObject({
  issuer: z.string().min(1).describe('The iss claim: identifies this gateway to upstreams, such as its URL.'),
  keyFile: path.describe('Ed25519 private key that signs (PKCS #8, PEM), read at startup.'),
  additionalKeyFiles: z
    .array(path)
    .default([])
    .describe('Additional Ed25519 keys (PEM, private or public) in the published JWKS, for key rotation.'),
  lifetimeSeconds: z.int().min(5).max(300).default(60).describe('Lifetime of an assertion.'),
  header: z
    .enum([assertionHeader, 'authorization'])
    .default(assertionHeader)
    .describe('Header of the assertion; in authorization, as a bearer token.'),
})

export type AssertionSettings = z.output<typeof assertionSchema>
