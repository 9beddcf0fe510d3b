import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { fetchDocument } from './fetch-document.ts'
import { trustworthyUrlSchema } from '../../config/setting-types.ts'

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
