import { request } from 'undici'

const maxBytes = 512 * 1024

/**
 * The text at a URL, for key sets: at most 512 KiB, TLS verified, no redirects (a redirect would move the
 * trust to another host), a connection of its own. Throws on everything but a whole 200.
 */
export async function fetchKeySet(url: string, signal: AbortSignal): Promise<string> {
  const { statusCode, body } = await request(url, {
    headers: { accept: 'application/jwk-set+json, application/json' },
    signal,
    reset: true,
  })
  if (statusCode !== 200) {
    await body.dump()
    throw new Error(`The key set was answered with status ${statusCode} instead of 200.`)
  }
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop ends the connection.
  for await (const part of body) {
    const chunk: Buffer = part
    size += chunk.length
    if (size > maxBytes) throw new Error(`The key set has more than ${maxBytes} bytes.`)
    chunks.push(chunk)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
}
