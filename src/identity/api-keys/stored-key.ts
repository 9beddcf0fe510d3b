import { z } from 'zod'
import { apiKeyNameSchema, keyPrincipalSchema } from '../../config/identity/api-key-name.ts'
import { validateTimestamp } from '../../lib/time/parse-timestamp.ts'

const time = z
  .string('expected a time such as 2026-01-31T12:00:00Z')
  .refine(
    (text) => validateTimestamp(text) === undefined,
    'expected an existing time with zone, such as 2026-01-31T12:00:00Z',
  )

const keyId = z.string().regex(/^[0-9A-Za-z]{12}$/, 'expected 12 letters or digits')
/** Who created or revoked a key, as the command stated. */
const actorSchema = z
  .string()
  .regex(/^[^\p{C}]{1,128}$/u, 'expected 1 to 128 characters without control characters')

const storedKeyMembers = z.strictObject({
  id: keyId,
  principal: keyPrincipalSchema,
  groups: z.array(apiKeyNameSchema).default([]),
  /** Principal of a token or a certificate that may be combined with the key. */
  subject: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}:./, 'expected a name such as corp:alice')
    .optional(),
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits'),
  /** Identifies the pepper of the hash; absent in stores of earlier versions. */
  pepper: z
    .string()
    .regex(/^[0-9a-f]{16}$/, 'expected 16 hex digits')
    .optional(),
  createdAt: time,
  createdBy: actorSchema.optional(),
  /** The key of which this one is the successor. */
  replaces: keyId.optional(),
  notBefore: time.optional(),
  expiresAt: time.optional(),
  revokedAt: time.optional(),
  revokedBy: actorSchema.optional(),
  description: z.string().optional(),
})

export const storedKeySchema = storedKeyMembers.refine(
  ({ notBefore = '', expiresAt }) =>
    !(expiresAt !== undefined && Date.parse(expiresAt) <= Date.parse(notBefore)),
  { path: ['expiresAt'], message: 'expected a time after notBefore; the key would never be valid' },
)

/** A stored API key: contains the hash of the secret, never the secret. Times are those of RFC 3339. */
export type StoredKey = z.output<typeof storedKeySchema>
