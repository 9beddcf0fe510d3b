import { z } from 'zod'
import { receiverUrl } from './audit/receiver-settings.ts'
import { tlsFiles } from '../lib/tls/tls-files.ts'

export const tracesSchema = z
  .strictObject({
    endpoint: receiverUrl
      .optional()
      .describe(
        'OTLP/HTTP endpoint, such as http://collector:4318/v1/traces; default: OTEL_EXPORTER_OTLP_ENDPOINT.',
      ),
    sampleRatio: z.number().min(0).max(1).default(1).describe('Sampling ratio of traces that start here.'),
    credential: z
      .strictObject({
        file: z
          .string()
          .min(1)
          .describe('File with the value of the authorization header; read for every batch.'),
      })
      .optional()
      .describe('Credential for the endpoint.'),
    caFile: tlsFiles.caFile,
  })
  .refine(
    ({ endpoint, caFile }) => caFile === undefined || endpoint?.startsWith('https:') === true,
    'expected an https endpoint, because caFile is set',
  )

export type TracesSettings = z.output<typeof tracesSchema>

export function resolveTracesPaths(
  settings: TracesSettings,
  absolute: (path: string) => string,
): TracesSettings {
  const { caFile, credential } = settings
  return {
    ...settings,
    ...(caFile !== undefined && { caFile: absolute(caFile) }),
    ...(credential && { credential: { ...credential, file: absolute(credential.file) } }),
  }
}
