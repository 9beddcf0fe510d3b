import { z } from 'zod'
import { fetchDocument } from './fetch-document.ts'
import { trustworthyUrlSchema } from '../../config/identity/trustworthy-url.ts'

/** Fetches the text of a key set from its issuer; rejects if it cannot be had, also when the signal aborts. */
export type FetchJwks = (signal: AbortSignal) => Promise<string>

const discoverySchema = z.looseObject({ issuer: z.string(), jwks_uri: trustworthyUrlSchema })

// Keys are fetched so seldom that an idle connection would only go stale.
const headers = { connection: 'close' }

/** Keys from a fixed URL. */
export function createUrlFetcher(url: string): FetchJwks {
  return (signal) => fetchDocument(url, { signal, headers })
}

/**
 * Keys from where the issuer says that they are (OpenID Connect Discovery 1.0 section 4). It is asked anew each time,
 * since it may move them. What it says of itself must be the issuer exactly, or somebody else could answer for it.
 */
export function createDiscoveryFetcher(issuer: string): FetchJwks {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  return async (signal) => {
    const discovered = discoverySchema.parse(JSON.parse(await fetchDocument(url, { signal, headers })))
    assertIssuer(discovered.issuer, issuer)
    return await fetchDocument(discovered.jwks_uri, { signal, headers })
  }
}

/** Throws unless a discovery document is that of the issuer. */
export function assertIssuer(said: string, expected: string): void {
  if (said !== expected) {
    throw new Error('the issuer in the discovery document differs from the configured one')
  }
}
