import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import { readTlsFiles } from '../../lib/tls/tls-files.ts'
import type { HttpSettings, OtlpSettings } from '../../config/audit/audit-sink-settings.ts'

class BatchRejected extends Error {}

/** Posts bodies to one receiver, sequentially over one connection. */
export interface HttpPoster {
  /** Resolves with the body of a 2xx response, truncated to 64 KiB. Rejects otherwise. */
  post(contentType: string, body: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

const maxResponseBytes = 65_536

/** Creates a poster. Reads the files of the settings and rejects if that fails; sends nothing yet. */
export async function createHttpPoster(settings: HttpSettings | OtlpSettings): Promise<HttpPoster> {
  const { url, timeoutMs } = settings
  const { origin, pathname, search } = new URL(url)
  const tls = await readTlsFiles(settings, 'of an audit sink')
  // Detect missing files at startup instead of at the first batch.
  await readHeaders(settings)
  const agent = new Agent({
    connections: 1,
    pipelining: 1,
    connect: { ...tls, timeout: timeoutMs },
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
        throw new BatchRejected(`the receiver returned status ${response.statusCode}`)
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
    const value = file === undefined && 'value' in header ? header.value : await readFile(file ?? '', 'utf8')
    return [header.name, (value ?? '').trim()]
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
