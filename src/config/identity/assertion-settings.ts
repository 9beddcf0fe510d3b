import { z } from 'zod'

export const assertionSchema = z.strictObject({
  issuer: z.string().min(1).describe('The iss claim: identifies this gateway to upstreams, such as its URL.'),
  keyFile: z
    .string()
    .min(1)
    .describe(
      'Ed25519 private key that signs (PKCS #8, PEM), read at startup. Keys that follow it, private or public, are only ' +
        'published in the JWKS, for key rotation.',
    ),
})

export type AssertionSettings = z.output<typeof assertionSchema>
