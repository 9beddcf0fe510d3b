import { z } from 'zod'
import { path } from '../file-settings.ts'

export const redactionSchema = z.strictObject({
  recordedClaims: z.array(z.string().min(1)).default([]).describe('Token claims to record.'),
  recordedContextKeys: z
    .array(z.string().regex(/^[a-z0-9._-]+$/, 'expected a key in lower case'))
    .default([])
    .describe('Context keys to record, without the header prefix.'),
  maxRecordedGroups: z
    .int()
    .min(0)
    .max(1_000)
    .default(0)
    .describe(
      'Groups of the caller to record, at most, for `policy replay`; 0 records none. Their names are recorded in plain text.',
    ),
  pseudonymize: z
    .array(z.enum(['principals', 'addresses']))
    .default([])
    .describe('What is replaced by a keyed hash, which is stable for the same value.'),
  keyFile: path
    .optional()
    .describe('Key of the hashes, at least 32 bytes; by default generated in the audit folder.'),
})

export type RedactionSettings = z.output<typeof redactionSchema>
