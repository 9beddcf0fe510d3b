import { z } from 'zod'
import { apiKeyNameSchema } from './api-key-name.ts'

export const bootstrapKeySchema = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .describe('File with the key: 32 to 256 printable characters without spaces. Read at startup.'),
    principal: apiKeyNameSchema.describe('Principal of the key.'),
    groups: z.array(apiKeyNameSchema).default([]).describe('Groups of the principal.'),
  })
  .describe(
    'One API key in a file instead of a key store, for the first calls of a new installation. It never expires.',
  )

export type BootstrapKeySettings = z.output<typeof bootstrapKeySchema>
