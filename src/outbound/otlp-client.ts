import { Agent } from 'undici'
import { describeRedirect, readBounded, readHeaderValue, type TlsFiles } from '../lib/index.ts'
import type { Outbound } from './outbound.ts'
import { createUndiciConnector } from './undici-connector.ts'

/** The receiver responded with another status than 2xx, or with a page. */
export class PostRefused extends Error {
  readonly status: number

  constructor(status: number, reason: string) {
    super(`the receiver returned status ${status}${reason}`)
    this.status = status
  }
}

interface OtlpClientOptions {
  readonly url: string
  /** With a file of the header `authorization`, which is read for each request. */
  readonly settings: TlsFiles & { readonly credential?: { readonly file: string } | undefined }
  readonly headers?: Readonly<Record<string, string>>
  /** For each of connecting, the response headers, and a pause in the response body. */
  readonly timeoutMs: number
}

const maxResponseBytes = 65_536
/** Messages that are posted one after the other share one. */
const maxConnections = 4

/** Posts messages as OTLP/HTTP 1.x in the JSON encoding, over connections of its own. */
export type OtlpClient = Awaited<ReturnType<typeof openOtlpClient>>

/** Sends nothing yet. Rejects if a file of the settings, which are named `setting`, cannot be read. */
export async function openOtlpClient(setting: string, options: OtlpClientOptions, outbound: Outbound) {
  const { url, settings, timeoutMs } = options
  const { credential } = settings
  const opener = await outbound.openClient(setting, settings)
  const readHeaders = async (): Promise<Record<string, string>> => ({
    'content-type': 'application/json',
    ...options.headers,
    ...(credential && { authorization: await readHeaderValue(credential.file) }),
  })
  // Detects a missing file at start rather than at the first message.
  await readHeaders()
  const { origin, pathname, search } = new URL(url)
  const agent = new Agent({
    connections: maxConnections,
    pipelining: 1,
    connect: createUndiciConnector(opener, timeoutMs),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  })
  return {
    /**
     * Resolves with the body of a 2xx response; empty if it has more than 64 KiB. Rejects otherwise, with PostRefused for
     * another status, or a page of HTML as of a proxy that wants a login.
     */
    async post(message: object, signal: AbortSignal): Promise<string> {
      const headers = await readHeaders()
      const body = JSON.stringify(message)
      const response = await agent.request({
        origin,
        path: pathname + search,
        method: 'POST',
        headers,
        body,
        signal,
      })
      const text = String((await readBounded(response.body, maxResponseBytes)) ?? '')
      const { statusCode } = response
      if (statusCode >= 200 && statusCode <= 299) {
        if (!String(response.headers['content-type']).startsWith('text/html')) return text
        throw new PostRefused(statusCode, ' with a page of HTML')
      }
      const target = describeRedirect(response, url)
      throw new PostRefused(statusCode, target === undefined ? '' : `${target}; redirects are not followed`)
    },
    close: (): Promise<void> => agent.destroy(),
  }
}

/** Adds the path of a signal, such as `/v1/logs`, to an OTLP URL without a path (OTLP/HTTP exporters do so). */
export function toSignalUrl(text: string, path: string): string {
  const url = new URL(text)
  if (url.pathname === '/' && url.search === '') url.pathname = path
  return url.href
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
