import { z } from 'zod'
import { path, tlsFiles } from '../file-settings.ts'
import { receiverUrl } from './receiver-settings.ts'
import { hasTlsFiles } from '../../lib/tls/tls-files.ts'

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
  .describe('Name of the sink in metrics and of its position file.')

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
  .refine(
    (settings) => !hasTlsFiles(settings) || settings.url.startsWith('https:'),
    'expected an https URL, because TLS files are set',
  )

export const sinksSchema = z
  .array(z.discriminatedUnion('type', [stdoutSchema, otlpSchema]))
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
export type OtlpSettings = z.output<typeof otlpSchema>
