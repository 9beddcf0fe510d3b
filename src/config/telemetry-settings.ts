import { unescape } from 'node:querystring'
import { z } from 'zod'
import { path, receiverUrl, tlsFiles, toSignalUrl } from '../settings/index.ts'

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

/**
 * Returns where spans are posted, and with which headers, as the specification of OTLP exporters has it: the settings come
 * before the variables for traces, and these before those for all signals.
 */
export function resolveTracesEndpoint(
  { endpoint }: TracesSettings,
  environment: NodeJS.ProcessEnv,
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  const base = (environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || 'http://localhost:4318').replace(/\/$/, '')
  const url = endpoint
    ? toSignalUrl(endpoint, '/v1/traces')
    : environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || `${base}/v1/traces`
  const text = [environment['OTEL_EXPORTER_OTLP_HEADERS'], environment['OTEL_EXPORTER_OTLP_TRACES_HEADERS']]
    .filter(Boolean)
    .join(',')
  const pairs = [...text.matchAll(/([^=,\s]+)\s*=\s*([^,]*)/g)]
  const headers: Record<string, string> = {}
  for (const [, name = '', value = ''] of pairs) headers[name.toLowerCase()] = unescape(value.trim())
  return { url, headers }
}

export function areTracesDisabled(environment: NodeJS.ProcessEnv): boolean {
  return environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true'
}
