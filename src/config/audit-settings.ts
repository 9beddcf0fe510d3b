import { z } from 'zod'
import {
  dashedName,
  expectHttpsIfTlsFiles,
  findDuplicates,
  path,
  receiverUrl,
  refuse,
  tlsFiles,
} from '../settings/index.ts'

const name = dashedName.describe('Name of the sink in metrics and of its position file.')

const stdoutSchema = z.strictObject({ name, type: z.literal('stdout').describe('Type of the sink.') })

const otlpSchema = z
  .strictObject({
    name,
    type: z.literal('otlp').describe('Type of the sink.'),
    url: receiverUrl.describe('URL that batches are sent to; without a path, to /v1/logs.'),
    ...tlsFiles,
    credential: z
      .strictObject({
        file: path.describe('File with the header `authorization`; read for every batch.'),
      })
      .optional(),
  })
  .superRefine(expectHttpsIfTlsFiles)

export const sinksSchema = z
  .array(z.discriminatedUnion('type', [stdoutSchema, otlpSchema]))
  .superRefine(refuse((sinks) => findDuplicates(sinks, 'name', 'sink name')))

export type SinkSettings = z.output<typeof sinksSchema>[number]
export type OtlpSettings = z.output<typeof otlpSchema>

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
    .describe('Replaced by a keyed hash, which is stable for the same value.'),
  keyFile: path
    .optional()
    .describe('Key of the hashes, at least 32 bytes; by default generated in the audit folder.'),
})

export type RedactionSettings = z.output<typeof redactionSchema>

const mebibyte = 1024 * 1024

export const auditSchema = z.strictObject({
  folder: path.describe('Folder of the audit log; not shared with other gateways.'),
  sealKeyFile: path
    .optional()
    .describe('Ed25519 key that signs the log (PKCS #8, PEM); by default generated in the folder.'),
  mode: z
    .enum(['strict', 'besteffort'])
    .default('strict')
    .describe(
      'How changes are recorded. strict: the intent is on disk before the change, and the outcome before the response; ' +
        'besteffort: records are written asynchronously. Denials and reloads are always recorded asynchronously.',
    ),
  reads: z.boolean().default(false).describe('Whether reads are recorded as well, in the same mode.'),
  retention: z
    .strictObject({
      maxAgeDays: z.int().min(1).optional().describe('Segments whose last record is older are removed.'),
      maxBytes: z
        .int()
        .min(mebibyte)
        .optional()
        .describe('Maximum size of the log; the oldest segments are removed.'),
    })
    .prefault({})
    .describe('Retention of segments. Removals are recorded in the log. By default nothing is removed.'),
  redaction: redactionSchema.prefault({}).describe('Redaction of recorded requests.'),
  sinks: sinksSchema.default([]).describe('Destinations of records in addition to the log files.'),
})

export type AuditSettings = z.output<typeof auditSchema>
