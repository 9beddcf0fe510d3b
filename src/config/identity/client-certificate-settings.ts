import { z } from 'zod'
import { sourceNameSchema } from './token-issuer-settings.ts'

export const clientCertificatesSchema = z
  .strictObject({ name: sourceNameSchema })
  .describe('Callers are identified by the one URI among the subject alternative names, such as a SPIFFE id.')

export type ClientCertificateSettings = z.output<typeof clientCertificatesSchema>
