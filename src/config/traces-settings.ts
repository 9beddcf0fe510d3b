import { z } from 'zod'
import { receiverCredential, receiverUrl } from './audit/receiver-settings.ts'
import { tlsFiles } from '../lib/tls/tls-files.ts'

/** Optional span attributes. */
const includableAttributes = ['id', 'principal', 'client'] as const

export const tracesSchema = z
  .strictObject({
    endpoint: receiverUrl
      .optional()
      .describe(
        'OTLP/HTTP endpoint, such as http://collector:4318/v1/traces; default: OTEL_EXPORTER_OTLP_ENDPOINT.',
      ),
    sampleRatio: z.number().min(0).max(1).default(1).describe('Sampling ratio of traces that start here.'),
    continueTraces: z
      .boolean()
      .default(true)
      .describe(
        'Whether the traceparent of a client, with its sampling flag, is continued; otherwise each request starts a trace.',
      ),
    include: z.array(z.enum(includableAttributes)).default([]).describe('Personal data to add to spans.'),
    credential: receiverCredential.optional().describe('Credential for the endpoint.'),
    caFile: tlsFiles.caFile,
    timeoutMs: z
      .int()
      .positive()
      .max(60_000)
      .default(5_000)
      .describe('Timeout of an export, also at shutdown.'),
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
