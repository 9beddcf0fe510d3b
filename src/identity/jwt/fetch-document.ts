import { request, type Dispatcher } from 'undici'

const maxBytes = 512 * 1024

export interface DocumentRequest {
  readonly signal: AbortSignal
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Dispatcher with custom certificate authorities. */
  readonly dispatcher?: Dispatcher
}

/** At most 512 KiB, TLS verified, no redirects, which would transfer the trust. Rejects unless complete with 200. */
export async function fetchDocument(
  url: string,
  { signal, method = 'GET', headers, ...rest }: DocumentRequest,
): Promise<string> {
  const { statusCode, body } = await request(url, {
    method,
    headers: { accept: 'application/json, application/jwk-set+json', ...headers },
    signal,
    ...rest,
  })
  if (statusCode !== 200) {
    await body.dump()
    throw new Error(`the issuer returned status ${statusCode}; expected 200`)
  }
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop closes the connection.
  for await (const part of body) {
    const chunk: Buffer = part
    size += chunk.length
    if (size > maxBytes) throw new Error(`the response of the issuer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
}
