import { z } from 'zod'

/** A principal or a group of API keys. A `:` is not allowed: it is reserved for names from tokens. */
export const apiKeyNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected 1 to 128 letters, digits, or any of . _ @ -')

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
