import { z } from 'zod'
import { recordFormats } from './record-formats.ts'
import { receiverCredential, receiverUrl } from './receiver-settings.ts'
import { resolveTlsFiles, hasTlsFiles, tlsFiles } from '../../lib/tls/tls-files.ts'

const milliseconds = z.int().positive().max(2_147_483_647)
const path = z.string().min(1)

const commonFields = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .describe('Name of the sink in metrics and of its position file.'),
  format: z.enum(recordFormats).default('json').describe('Record format.'),
  maxLagHours: z
    .int()
    .positive()
    .max(8_760)
    .default(168)
    .describe('Maximum age of undelivered records; older ones may be removed by retention.'),
  timeoutMs: milliseconds.default(10_000).describe('Timeout of the delivery of a batch.'),
  retry: z
    .strictObject({
      minBackoffMs: milliseconds.default(500).describe('First back-off.'),
      maxBackoffMs: milliseconds.default(60_000).describe('Longest back-off.'),
    })
    .refine(
      ({ minBackoffMs, maxBackoffMs }) => minBackoffMs <= maxBackoffMs,
      'expected minBackoffMs to be at most maxBackoffMs',
    )
    .prefault({})
    .describe('Exponential back-off after a failed delivery.'),
}

const typeDescription = 'Type of the sink.'

const reservedHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
])

const receiverFields = {
  url: receiverUrl.describe('URL that batches are sent to.'),
  ...tlsFiles,
  credential: receiverCredential.optional(),
  headers: z
    .array(
      z
        .strictObject({
          name: z
            .string()
            .regex(/^[a-z][a-z0-9-]*$/)
            .refine((name) => !reservedHeaders.has(name), 'expected a header that the gateway does not set')
            .describe('Header name in lower case.'),
          value: z
            .string()
            .regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/)
            .optional()
            .meta({ description: 'Header value; use `file` for secrets.', secret: true }),
          file: path.optional().describe('File with the header value; read for every batch.'),
        })
        .refine(
          ({ value, file }) => (value === undefined) !== (file === undefined),
          'expected either value or file',
        ),
    )
    .default([])
    .describe('Additional headers, such as a tenant.'),
}

type ReceiverSettings = z.output<z.ZodObject<typeof receiverFields>>

const stdoutSchema = z.strictObject({ ...commonFields, type: z.literal('stdout').describe(typeDescription) })

const httpSchema = z
  .strictObject({ ...commonFields, type: z.literal('http').describe(typeDescription), ...receiverFields })
  .refine(hasHttpsIfTlsFiles, 'expected an https URL, because TLS files are set')
  .refine(hasUniqueHeaders, 'expected each header once')

const otlpSchema = z
  .strictObject({ ...commonFields, type: z.literal('otlp').describe(typeDescription), ...receiverFields })
  .refine(hasHttpsIfTlsFiles, 'expected an https URL, because TLS files are set')
  .refine(hasUniqueHeaders, 'expected each header once')

const kafkaSchema = z.strictObject({
  ...commonFields,
  type: z.literal('kafka').describe(typeDescription),
  brokers: z
    .array(z.string().regex(/^[^\s/]+:\d{1,5}$/, 'expected host:port'))
    .min(1)
    .describe('Bootstrap brokers as host:port.'),
  topic: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,249}$/)
    .describe('Kafka topic.'),
  tls: z.strictObject(tlsFiles).optional().describe('Enables TLS, even if empty.'),
  sasl: z
    .strictObject({
      mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).describe('SASL mechanism.'),
      username: z.string().min(1).describe('SASL user name.'),
      passwordFile: path.describe('File with the password.'),
    })
    .optional(),
})

export const sinksSchema = z
  .array(z.discriminatedUnion('type', [stdoutSchema, httpSchema, kafkaSchema, otlpSchema]))
  .superRefine((sinks, context) => {
    const names = new Set<string>()
    for (const [index, { name }] of sinks.entries()) {
      if (names.has(name)) {
        const message = `duplicate sink name "${name}"`
        context.addIssue({ code: 'custom', path: [index, 'name'], message })
      }
      names.add(name)
    }
  })

export type SinkSettings = z.output<typeof sinksSchema>[number]
export type HttpSettings = z.output<typeof httpSchema>
export type OtlpSettings = z.output<typeof otlpSchema>
export type KafkaSettings = z.output<typeof kafkaSchema>

export function resolveSinkPaths(settings: SinkSettings, absolute: (path: string) => string): SinkSettings {
  if (settings.type === 'stdout') return settings
  if (settings.type === 'kafka') {
    const { tls, sasl } = settings
    return {
      ...settings,
      ...(tls && { tls: resolveTlsFiles(tls, absolute) }),
      ...(sasl && { sasl: { ...sasl, passwordFile: absolute(sasl.passwordFile) } }),
    }
  }
  const { credential, headers } = settings
  return {
    ...settings,
    ...resolveTlsFiles(settings, absolute),
    ...(credential && { credential: { ...credential, file: absolute(credential.file) } }),
    headers: headers.map((header) =>
      header.file === undefined ? header : { ...header, file: absolute(header.file) },
    ),
  }
}

function hasHttpsIfTlsFiles(settings: ReceiverSettings): boolean {
  return !hasTlsFiles(settings) || settings.url.startsWith('https:')
}

function hasUniqueHeaders({ credential, headers }: ReceiverSettings): boolean {
  const names = [...(credential ? [credential.header] : []), ...headers.map(({ name }) => name)]
  return new Set(names).size === names.length
}
