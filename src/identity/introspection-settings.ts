import { z } from 'zod'
import { audienceSchema, clockSkewSeconds, sourceName } from './issuers.ts'
import { trustworthyUrl } from './trustworthy-url.ts'

const text = z.string().min(1)

/** The authorization server that is asked about opaque tokens (RFC 7662); there is one at most. */
export const introspectionSchema = z.strictObject({
  name: sourceName,
  url: trustworthyUrl.describe('The introspection endpoint.'),
  issuer: text.describe('What the answer says as iss, exactly, where it says it.'),
  audience: audienceSchema,
  clientId: text.describe('What the gateway authenticates itself with, by HTTP Basic.'),
  clientSecretFile: text.describe('A file that holds the secret of that client, read for every question.'),
  subjectClaim: text.default('sub').describe('The member of the answer that names the caller.'),
  groupsClaim: text.optional().describe('The member that lists the groups of the caller.'),
  clockSkewSeconds,
  cacheSeconds: z
    .number()
    .min(0)
    .max(3600)
    .default(60)
    .describe('How long an active token is not asked about again: how late a revocation can take effect.'),
  inactiveCacheSeconds: z.number().min(0).max(3600).default(10).describe('Likewise for one that is not.'),
  timeoutSeconds: z.number().positive().max(60).default(5).describe('For the answer to a question.'),
  maximumQuestions: z
    .int()
    .positive()
    .max(10_000)
    .default(64)
    .describe('Questions under way at a time; tokens beyond are answered 503.'),
})

/** The authorization server of opaque tokens, checked and with all defaults. */
export type IntrospectionSettings = z.output<typeof introspectionSchema>
