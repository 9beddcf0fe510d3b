import { z } from 'zod'
import { path, tlsFiles } from '../file-settings.ts'
import { audienceSchema, claimFields, sourceNameSchema } from './token-issuer-settings.ts'
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
    clientSecretFile: path.describe('File with the client secret.'),
    ...claimFields,
  })
  .refine(({ caFile, url }) => caFile === undefined || url.startsWith('https:'), {
    path: ['caFile'],
    message: 'expected an https URL, because caFile is set',
  })

export type IntrospectionSettings = z.output<typeof introspectionSchema>
