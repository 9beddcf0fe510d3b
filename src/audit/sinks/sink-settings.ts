import { z } from 'zod'
import { recordFormats } from '../formats/format-record.ts'
import { receiverCredential, receiverUrl } from '../../interface/receiver-address.ts'
import { absoluteTlsFiles, namesTlsFiles, tlsFiles } from '../../lib/tls/tls-files.ts'

const milliseconds = z.int().positive().max(2_147_483_647)
const path = z.string().min(1)

const common = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .describe('Names the sink in metrics, and the file with how far it has come.'),
  format: z.enum(recordFormats).default('json').describe('How each record is written.'),
  batch: z
    .strictObject({
      records: z.int().positive().max(10_000).default(500).describe('The most in a batch.'),
      bytes: z
        .int()
        .positive()
        .max(16_777_216)
        .default(1_048_576)
        .describe('Of the log, that is read at once.'),
      waitMs: z.int().min(0).max(60_000).default(200).describe('How long a new record waits for others.'),
    })
    .prefault({}),
  keepHours: z
    .int()
    .positive()
    .max(8_760)
    .default(168)
    .describe(
      'How old a record that the sink has not taken may become before retention removes it all the same.',
    ),
  timeoutMs: milliseconds.default(10_000).describe('For the receiver to take a batch.'),
  retry: z
    .strictObject({
      minimumMs: milliseconds.default(500).describe('The first pause.'),
      maximumMs: milliseconds.default(60_000).describe('The longest pause.'),
    })
    .refine(
      ({ minimumMs, maximumMs }) => minimumMs <= maximumMs,
      'expected minimumMs to be at most maximumMs',
    )
    .prefault({})
    .describe('The pause after a failure: it doubles from the one to the other.'),
}

const kind = 'What takes the records.'

const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
])

const receiver = {
  url: receiverUrl.describe('Where batches are sent.'),
  ...tlsFiles,
  credential: receiverCredential.optional(),
  headers: z
    .array(
      z
        .strictObject({
          name: z
            .string()
            .regex(/^[a-z][a-z0-9-]*$/)
            .refine((name) => !ownHeaders.has(name), 'expected a header that the gateway does not set itself')
            .describe('In lower case.'),
          value: z
            .string()
            .regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/)
            .optional()
            .meta({ description: 'Its value; a secret is better given as a file.', secret: true }),
          file: path.optional().describe('A file that holds its value; read again for every batch.'),
        })
        .refine(
          ({ value, file }) => (value === undefined) !== (file === undefined),
          'expected either value or file',
        ),
    )
    .default([])
    .describe('What the receiver wants to be told besides, such as the tenant.'),
}

type ReceiverSettings = z.output<z.ZodObject<typeof receiver>>

const stdoutSchema = z.strictObject({ ...common, type: z.literal('stdout').describe(kind) })

const httpSchema = z
  .strictObject({ ...common, type: z.literal('http').describe(kind), ...receiver })
  .refine(isTlsWhereTold, 'expected an https URL, since there are certificates for it')
  .refine(hasEachHeaderOnce, 'expected each header once')

const otlpSchema = z
  .strictObject({ ...common, type: z.literal('otlp').describe(kind), ...receiver })
  .refine(isTlsWhereTold, 'expected an https URL, since there are certificates for it')
  .refine(hasEachHeaderOnce, 'expected each header once')

const kafkaSchema = z.strictObject({
  ...common,
  type: z.literal('kafka').describe(kind),
  brokers: z
    .array(z.string().regex(/^[^\s/]+:\d{1,5}$/, 'expected host:port'))
    .min(1)
    .describe('Each as host:port; one that answers is enough to begin with.'),
  topic: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,249}$/)
    .describe('The topic of the records.'),
  tls: z.strictObject(tlsFiles).optional().describe('Given, even if empty, TLS is spoken.'),
  login: z
    .strictObject({
      mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).describe('Of SASL.'),
      user: z.string().min(1).describe('Who the gateway is there.'),
      passwordFile: path.describe('A file that holds the password.'),
    })
    .optional(),
})

/** Where the records of the audit log go besides the file, as it stands in the settings. */
export const sinksSchema = z
  .array(z.discriminatedUnion('type', [stdoutSchema, httpSchema, kafkaSchema, otlpSchema]))
  .superRefine((sinks, context) => {
    const names = new Set<string>()
    for (const [index, { name }] of sinks.entries()) {
      if (names.has(name)) {
        const message = `there are two sinks of the name "${name}"`
        context.addIssue({ code: 'custom', path: [index, 'name'], message })
      }
      names.add(name)
    }
  })

/** One sink, checked, with every default filled in. */
export type SinkSettings = z.output<typeof sinksSchema>[number]
export type HttpSettings = z.output<typeof httpSchema>
export type OtlpSettings = z.output<typeof otlpSchema>
export type KafkaSettings = z.output<typeof kafkaSchema>

/** The same settings with every path absolute. */
export function withAbsoluteSinkPaths(
  settings: SinkSettings,
  absolute: (path: string) => string,
): SinkSettings {
  if (settings.type === 'stdout') return settings
  if (settings.type === 'kafka') {
    const { tls, login } = settings
    return {
      ...settings,
      ...(tls && { tls: absoluteTlsFiles(tls, absolute) }),
      ...(login && { login: { ...login, passwordFile: absolute(login.passwordFile) } }),
    }
  }
  const { credential, headers } = settings
  return {
    ...settings,
    ...absoluteTlsFiles(settings, absolute),
    ...(credential && { credential: { ...credential, file: absolute(credential.file) } }),
    headers: headers.map((header) =>
      header.file === undefined ? header : { ...header, file: absolute(header.file) },
    ),
  }
}

function isTlsWhereTold(settings: ReceiverSettings): boolean {
  return !namesTlsFiles(settings) || settings.url.startsWith('https:')
}

function hasEachHeaderOnce({ credential, headers }: ReceiverSettings): boolean {
  const names = [...(credential ? [credential.header] : []), ...headers.map(({ name }) => name)]
  return new Set(names).size === names.length
}
