import { readHeaderValue, type TlsFiles } from '../lib/index.ts'
import { createHttpPoster } from './http-poster.ts'
import type { Outbound } from './outbound.ts'

/** Posts messages as OTLP/HTTP 1.x in the JSON encoding. */
export interface OtlpClient {
  /** Resolves with the body of the response; rejects like `HttpPoster.post`. */
  post(message: object, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

interface OtlpClientOptions {
  readonly url: string
  /** With a file of the header `authorization`, which is read for each request. */
  readonly settings: TlsFiles & { readonly credential?: { readonly file: string } | undefined }
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly maxConnections: number
}

/** Sends nothing yet. Rejects if a file of the settings, which are named `setting`, cannot be read. */
export async function openOtlpClient(
  setting: string,
  options: OtlpClientOptions,
  outbound: Outbound,
): Promise<OtlpClient> {
  const { url, settings, timeoutMs, maxConnections } = options
  const { credential } = settings
  const opener = await outbound.openClient(setting, settings)
  const readHeaders = async (): Promise<Record<string, string>> => ({
    'content-type': 'application/json',
    ...options.headers,
    ...(credential && { authorization: await readHeaderValue(credential.file) }),
  })
  // Detects a missing file at start rather than at the first message.
  await readHeaders()
  const poster = createHttpPoster(url, opener, timeoutMs, maxConnections)
  return {
    post: async (message, signal) => poster.post(await readHeaders(), JSON.stringify(message), signal),
    close: () => poster.close(),
  }
}

/** Encodes attributes of a resource, a span or a log record; leaves out undefined ones. */
export function toOtlpAttributes(attributes: Readonly<Record<string, unknown>>): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toValue(value) }],
  )
}

function toValue(value: unknown): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toValue) } }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
  return { stringValue: String(value) }
}
