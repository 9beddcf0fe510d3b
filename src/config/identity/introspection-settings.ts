import { z } from 'zod'
import { audienceSchema, clockSkewSecondsSchema, sourceNameSchema } from './token-issuer-settings.ts'
import { trustworthyUrlSchema } from './trustworthy-url.ts'

const text = z.string().min(1)

/** Authorization server for opaque tokens (RFC 7662); at most one. */
export const introspectionSchema = z.strictObject({
  name: sourceNameSchema,
  url: trustworthyUrlSchema.describe('The introspection endpoint.'),
  issuer: text.describe('Expected iss of the response, if it has one.'),
  audience: audienceSchema,
  clientId: text.describe('Client id for HTTP Basic authentication of the gateway.'),
  clientSecretFile: text.describe('File with the client secret, read for every introspection.'),
  subjectClaim: text.default('sub').describe('Member of the response with the name of the caller.'),
  groupsClaim: text.optional().describe('Member of the response with the groups of the caller.'),
  clockSkewSeconds: clockSkewSecondsSchema,
  cacheSeconds: z
    .number()
    .min(0)
    .max(3600)
    .default(60)
    .describe('How long an active token is cached; revocation can take effect this late.'),
  inactiveCacheSeconds: z
    .number()
    .min(0)
    .max(3600)
    .default(10)
    .describe('How long an inactive token is cached.'),
  timeoutSeconds: z.number().positive().max(60).default(5).describe('Timeout of an introspection.'),
  maxConcurrentIntrospections: z
    .int()
    .positive()
    .max(10_000)
    .default(64)
    .describe('Maximum concurrent introspections; further tokens get 503.'),
})

export type IntrospectionSettings = z.output<typeof introspectionSchema>
