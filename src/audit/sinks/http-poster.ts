import { Agent } from 'undici'
import { describeRedirect } from '../../lib/http/describe-redirect.ts'
import { readHeaderValue } from '../../lib/fs/read-secret.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { createUndiciConnector } from '../../lib/outbound/undici-connector.ts'
import type { HttpSettings, OtlpSettings } from '../../config/audit/audit-sink-settings.ts'
import { ContentRefused } from './sink.ts'

class BatchRejected extends Error {}

/** Other errors of clients are about the credential, the URL or the rate (RFC 9110 section 15.5, RFC 6585). */
const contentStatuses: ReadonlySet<number> = new Set([400, 413, 422])

/** Posts bodies to one receiver, sequentially over one connection. */
export interface HttpPoster {
  /** Resolves with the body of a 2xx response, truncated to 64 KiB. Rejects otherwise, with ContentRefused for 400, 413 and 422. */
  post(contentType: string, body: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

const maxResponseBytes = 65_536

/** Creates a poster. Reads the files of the settings and rejects if that fails; sends nothing yet. */
export async function createHttpPoster(
  settings: HttpSettings | OtlpSettings,
  outbound: Outbound,
): Promise<HttpPoster> {
  const { url, timeoutMs } = settings
  const { origin, pathname, search } = new URL(url)
  const opener = await outbound.openClient(`audit.sinks.${settings.name}`, settings)
  // Detect missing files at startup instead of at the first batch.
  await readHeaders(settings)
  const agent = new Agent({
    connections: 1,
    pipelining: 1,
    connect: createUndiciConnector(opener, timeoutMs),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  })
  return {
    async post(contentType, body, signal) {
      const response = await agent.request({
        origin,
        path: pathname + search,
        method: 'POST',
        headers: { 'content-type': contentType, ...(await readHeaders(settings)) },
        body,
        signal,
      })
      const text = await readTruncated(response.body)
      if (response.statusCode < 200 || response.statusCode > 299) {
        const target = describeRedirect(response, url)
        const redirect = target === undefined ? '' : `${target}; redirects are not followed`
        const message = `the receiver returned status ${response.statusCode}${redirect}`
        throw contentStatuses.has(response.statusCode)
          ? new ContentRefused(message)
          : new BatchRejected(message)
      }
      return text
    },
    close: () => agent.destroy(),
  }
}

async function readHeaders({
  credential,
  headers,
}: HttpSettings | OtlpSettings): Promise<Record<string, string>> {
  const named = [...(credential ? [{ name: credential.header, file: credential.file }] : []), ...headers]
  const values = named.map(async (header): Promise<[string, string]> => {
    const { file } = header
    const value = file === undefined && 'value' in header ? header.value : await readHeaderValue(file ?? '')
    return [header.name, value ?? '']
  })
  return Object.fromEntries(await Promise.all(values))
}

async function readTruncated(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= maxResponseBytes) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, maxResponseBytes)
}
