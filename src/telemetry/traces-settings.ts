import { z } from 'zod'
import { receiverCredential, receiverUrl } from '../interface/receiver-address.ts'
import { tlsFiles } from '../lib/tls/tls-files.ts'

/** What of a request a span holds only where it is asked for. */
const includable = ['id', 'principal', 'client'] as const

/** Where the spans of requests go, as it stands in the settings. */
export const tracesSchema = z
  .strictObject({
    endpoint: receiverUrl
      .optional()
      .describe(
        'Takes OTLP/HTTP, as in http://collector:4318/v1/traces; otherwise OTEL_EXPORTER_OTLP_ENDPOINT says where.',
      ),
    ratio: z.number().min(0).max(1).default(1).describe('Of the traces that begin here, how many are kept.'),
    continueTraces: z
      .boolean()
      .default(true)
      .describe(
        'Whether the traceparent of a client is continued, and decides what is kept; else each request begins a trace.',
      ),
    include: z
      .array(z.enum(includable))
      .default([])
      .describe('What spans tell besides what is in no way personal.'),
    credential: receiverCredential.optional().describe('What lets the gateway in at the endpoint.'),
    certificateAuthority: tlsFiles.certificateAuthority,
    timeoutMs: z
      .int()
      .positive()
      .max(60_000)
      .default(5_000)
      .describe('For a batch to be taken, and so for the last ones at the end.'),
    queueSpans: z
      .int()
      .positive()
      .max(1_000_000)
      .default(16_384)
      .describe('Spans that wait to be sent; further ones are dropped, and counted.'),
  })
  .refine(
    ({ endpoint, certificateAuthority }) =>
      certificateAuthority === undefined || endpoint?.startsWith('https:') === true,
    'expected an https endpoint, since there is a certificate authority for it',
  )

export type TracesSettings = z.output<typeof tracesSchema>

/** The same settings with every path absolute. */
export function withAbsoluteTracesPaths(
  settings: TracesSettings,
  absolute: (path: string) => string,
): TracesSettings {
  const { certificateAuthority: authority, credential } = settings
  return {
    ...settings,
    ...(authority !== undefined && { certificateAuthority: absolute(authority) }),
    ...(credential && { credential: { ...credential, file: absolute(credential.file) } }),
  }
}
