import { z } from 'zod'
import { path, receiverUrl, tlsFiles } from '../settings/index.ts'

export type LogSettings = z.output<typeof logSchema>

export const logSchema = z.strictObject({
  // `info` includes a line for every request; `warn` only events that need attention.
  level: z.enum(['error', 'warn', 'info', 'debug', 'silent']).default('info').describe('Minimum log level.'),
})

export const tracesSchema = z
  .strictObject({
    endpoint: receiverUrl
      .optional()
      .describe(
        'OTLP/HTTP endpoint, such as http://collector:4318; without a path, /v1/traces is added. Default: OTEL_EXPORTER_OTLP_ENDPOINT.',
      ),
    sampleRatio: z.number().min(0).max(1).default(1).describe('Sampling ratio of traces that start here.'),
    credential: z
      .strictObject({
        file: path.describe('File with the value of the authorization header; read for every batch.'),
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
