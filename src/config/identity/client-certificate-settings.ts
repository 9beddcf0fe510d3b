import { z } from 'zod'
import { sourceNameSchema } from './token-issuer-settings.ts'

export const clientCertificatesSchema = z.strictObject({
  name: sourceNameSchema,
  sanType: z
    .enum(['uri', 'dns', 'email'])
    .default('uri')
    .describe('Type of subject alternative name that identifies the caller; a SPIFFE id is a uri.'),
})

export type ClientCertificateSettings = z.output<typeof clientCertificatesSchema>
