import { z } from 'zod'

/** A principal or a group of API keys. A `:` is not allowed: it is reserved for names from tokens. */
export const apiKeyNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected 1 to 128 letters, digits, or any of . _ @ -')

/** Records, limits and the console give callers without a credential this name. */
export const keyPrincipalSchema = apiKeyNameSchema.refine(
  (name) => name !== 'anonymous',
  'anonymous is the name of callers without a credential; choose another one',
)
