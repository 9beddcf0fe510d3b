import { request, type Dispatcher } from 'undici'
import { describeRedirect, readBounded } from '../lib/index.ts'

const maxBytes = 512 * 1024

interface DocumentRequest {
  readonly signal: AbortSignal
  /** Verifies certificates. */
  readonly dispatcher: Dispatcher
  readonly headers: Readonly<Record<string, string>>
  /** Sent with POST. */
  readonly body?: string
}

/**
 * Returns the JSON of a response: at most 512 KiB, TLS verified, no redirects, which would transfer the trust. Rejects
 * unless it is complete, with status 200, and not compressed; the error says what the server sent.
 */
export async function fetchDocument(url: string, { headers, ...options }: DocumentRequest): Promise<unknown> {
  const accept = 'application/json, application/jwk-set+json'
  const response = await request(url, {
    ...options,
    method: options.body === undefined ? 'GET' : 'POST',
    headers: { accept, 'accept-encoding': 'identity', ...headers },
  })
  const { body } = response
  const problem = findProblem(response, url)
  if (problem !== undefined) {
    await body.dump()
    throw new Error(problem)
  }
  const bytes = await readBounded(body, maxBytes)
  if (bytes === undefined) throw new Error(`the response is larger than ${maxBytes} bytes`)
  try {
    const document: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return document
  } catch {
    // The error of the parser quotes the response, which may contain claims.
    const type = JSON.stringify(response.headers['content-type'] ?? 'none')
    throw new Error(`the response of ${bytes.length} bytes with content-type ${type} is not JSON`)
  }
}

function findProblem(response: Dispatcher.ResponseData, url: string): string | undefined {
  const { statusCode, headers } = response
  const { 'content-encoding': encoding = 'identity' } = headers
  if (statusCode !== 200) {
    const target = describeRedirect(response, url)
    const advice = target === undefined ? '' : '; redirects are not followed: configure the final URL'
    return `the response has status ${statusCode}${target ?? ''}; expected 200${advice}`
  }
  if (String(encoding).toLowerCase() === 'identity') return undefined
  return `the response has content-encoding ${JSON.stringify(encoding)}, although identity was requested`
}
