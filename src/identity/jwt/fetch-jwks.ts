import { request, type Dispatcher } from 'undici'
import { z } from 'zod'
import { trustworthyUrlSchema } from '../../settings/index.ts'
import { describeRedirect, readBounded } from '../../lib/index.ts'

const maxBytes = 512 * 1024

export interface DocumentRequest {
  readonly signal: AbortSignal
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Verifies certificates. */
  readonly dispatcher: Dispatcher
}

/**
 * Returns the JSON of a response: at most 512 KiB, TLS verified, no redirects, which would transfer the trust. Rejects
 * unless it is complete, with status 200, and not compressed; the error says what the server sent.
 */
export async function fetchDocument(
  url: string,
  { signal, method = 'GET', headers, ...rest }: DocumentRequest,
): Promise<unknown> {
  const response = await request(url, {
    method,
    headers: {
      accept: 'application/json, application/jwk-set+json',
      'accept-encoding': 'identity',
      ...headers,
    },
    signal,
    ...rest,
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

/** Fetches the JSON of a JWKS from its issuer; rejects if that fails or the signal aborts. */
export type FetchJwks = (signal: AbortSignal) => Promise<unknown>

const discoverySchema = z.looseObject({ issuer: z.string(), jwks_uri: trustworthyUrlSchema })

// Fetches are too rare for an idle connection to be useful.
const headers = { connection: 'close' }

export function createUrlFetcher(url: string, dispatcher: Dispatcher): FetchJwks {
  return (signal) => fetchDocument(url, { signal, headers, dispatcher })
}

/** OpenID Connect Discovery 1.0 (section 4), each time: keys may move. An exact issuer prevents impersonation. */
export function createDiscoveryFetcher(issuer: string, dispatcher: Dispatcher): FetchJwks {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  return async (signal) => {
    const discovered = discoverySchema.parse(await fetchDocument(url, { signal, headers, dispatcher }))
    assertIssuer(discovered.issuer, issuer)
    return await fetchDocument(discovered.jwks_uri, { signal, headers, dispatcher })
  }
}

export function assertIssuer(actual: string, expected: string): void {
  if (actual !== expected) {
    throw new Error('the issuer in the discovery document differs from the configured one')
  }
}
