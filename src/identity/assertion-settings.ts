import { z } from 'zod'
import { assertionHeader } from '../interface/headers.ts'

const path = z.string().min(1)

/** The signed statement about the caller that an upstream gets which is told to expect one. */
export const assertionSchema = z.strictObject({
  issuer: z.string().min(1).describe('The claim iss: how upstreams know this gateway, such as its URL.'),
  keyFile: path.describe('The Ed25519 private key that signs: PKCS #8 in PEM, read at the start.'),
  alsoPublished: z
    .array(path)
    .default([])
    .describe('Further Ed25519 keys in PEM, private or public, published with it while keys are exchanged.'),
  lifetimeSeconds: z.int().min(5).max(300).default(60).describe('How long an assertion is good.'),
  header: z
    .enum([assertionHeader, 'authorization'])
    .default(assertionHeader)
    .describe('The header that it is sent in; in authorization, as a bearer token.'),
})

/** How assertions are made, checked and with all defaults. */
export type AssertionSettings = z.output<typeof assertionSchema>
