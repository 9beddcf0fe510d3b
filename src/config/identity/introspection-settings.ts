import { z } from 'zod'
import { tlsFiles } from '../../lib/tls/tls-files.ts'
import {
  audienceSchema,
  claimFields,
  clockSkewSecondsSchema,
  sourceNameSchema,
} from './token-issuer-settings.ts'
import { trustworthyUrlSchema } from './trustworthy-url.ts'

const text = z.string().min(1)

/** Authorization server for opaque tokens (RFC 7662); at most one. */
export const introspectionSchema = z
  .strictObject({
    name: sourceNameSchema,
    url: trustworthyUrlSchema.describe('The introspection endpoint.'),
    caFile: tlsFiles.caFile,
    issuer: text.describe('Expected iss of the response, if it has one.'),
    audience: audienceSchema,
    clientId: text.describe('Client id for HTTP Basic authentication of the gateway.'),
    clientSecretFile: text.describe('File with the client secret.'),
    ...claimFields,
    clockSkewSeconds: clockSkewSecondsSchema,
    cacheSeconds: z
      .number()
      .min(0)
      .max(3600)
      .default(60)
      .describe('How long an active token is cached; revocation can take effect this late.'),
    timeoutSeconds: z.number().positive().max(60).default(5).describe('Timeout of an introspection.'),
  })
  .refine(({ caFile, url }) => caFile === undefined || url.startsWith('https:'), {
    path: ['caFile'],
    message: 'expected an https URL, because caFile is set',
  })

export type IntrospectionSettings = z.output<typeof introspectionSchema>
