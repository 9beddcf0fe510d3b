import { readSecret, withoutReserve } from '../../lib/index.ts'
import { LRUCache } from 'lru-cache'
import { Agent } from 'undici'
import { z } from 'zod'
import { createUndiciConnector } from '../../outbound/index.ts'
import {
  clockSkewSeconds,
  createCallerReader,
  createVerifiedToken,
  type ReadCaller,
  type VerifiedToken,
} from '../jwt/claims.ts'
import { fetchDocument } from '../fetch-document.ts'
import type { IntrospectionSettings } from '../../config/index.ts'
import type { IdentityRuntime } from '../runtime.ts'
import type { TokenCache } from '../token-cache.ts'
import { AuthenticationError } from '../authentication-error.ts'

/** How late the revocation of a token can take effect. */
const activeCacheMs = 60_000
const timeoutMs = 5_000
/** Further tokens get 503. */
const maxConcurrent = 64

/** Tokens that are refused for this time without a query. They are apart from valid ones, so that random ones cannot evict these. */
const refusedMs = 10_000
const maxRefused = 10_000

/**
 * Concurrent requests with the same token share one query. Without a definite response, requests fail with 503: an
 * unavailable server makes no token valid or invalid. Rejects if a file cannot be read.
 */
export async function openIntrospection(
  settings: IntrospectionSettings,
  cache: TokenCache,
  { now, report, outbound }: IdentityRuntime,
) {
  const { url, clientId, clientSecretFile } = settings
  const opener = await outbound.openClient('identity.introspection', settings)
  const secret = await outbound.follow({
    setting: 'identity.introspection.clientSecretFile',
    files: [clientSecretFile],
    read: () => readSecret(clientSecretFile),
  })
  const readCaller = createCallerReader(settings, report)
  const dispatcher = new Agent({
    connections: maxConcurrent,
    pipelining: 1,
    connect: createUndiciConnector(opener, timeoutMs),
  })
  const closing = new AbortController()
  const requests = new Map<string, Promise<VerifiedToken>>()
  const refusedAt = new LRUCache<string, number>(withoutReserve(maxRefused))

  async function introspect(secret: string, token: string, signal: AbortSignal) {
    // Both are form-encoded before they are joined (RFC 6749 section 2.3.1).
    const pair = [clientId, secret].map((part) => new URLSearchParams([['', part]]).toString().slice(1))
    const response = await fetchDocument(url, {
      signal,
      dispatcher,
      headers: {
        authorization: `Basic ${Buffer.from(pair.join(':')).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    })
    return responseSchema.parse(response)
  }

  async function introspectToken(token: string, digest: string): Promise<VerifiedToken> {
    let response: IntrospectionResponse
    try {
      const timeout = AbortSignal.timeout(timeoutMs)
      const signal = AbortSignal.any([timeout, closing.signal])
      const used = secret.current
      response = await introspect(used, token, signal).catch(async (error: unknown) => {
        await secret.refresh()
        if (secret.current === used) throw error
        return introspect(secret.current, token, signal)
      })
    } catch (cause) {
      throw new AuthenticationError('introspection_unavailable', cause)
    }
    try {
      const verified = verifyResponse(settings, readCaller, response, digest, now())
      const { exp = Infinity } = response
      cache.add(digest, verified, Math.min((exp + clockSkewSeconds) * 1000, now() + activeCacheMs))
      return verified
    } catch (error) {
      refusedAt.set(digest, now())
      throw error
    }
  }

  return {
    /** `digest` is the SHA-256 in hex. Throws or rejects with AuthenticationError. */
    verify(token: string, digest: string): Promise<VerifiedToken> {
      // Not for longer if the clock is set back.
      if (Math.abs(now() - (refusedAt.get(digest) ?? -Infinity)) < refusedMs)
        throw new AuthenticationError('inactive_token')
      const requested = requests.get(digest)
      if (requested !== undefined) return requested
      if (requests.size >= maxConcurrent) {
        throw new AuthenticationError('introspection_unavailable', 'too many concurrent introspections')
      }
      const request = introspectToken(token, digest).finally(() => requests.delete(digest))
      requests.set(digest, request)
      return request
    },
    async close() {
      closing.abort()
      await Promise.allSettled(requests.values())
      await dispatcher.destroy()
    },
  }
}

const responseSchema = z.looseObject({
  active: z.boolean(),
  exp: z.number().optional(),
  nbf: z.number().optional(),
  token_type: z.string().optional(),
})

type IntrospectionResponse = z.output<typeof responseSchema>

/** Throws AuthenticationError unless the token is an active, unbound access token for this audience. */
function verifyResponse(
  settings: IntrospectionSettings,
  readCaller: ReadCaller,
  response: IntrospectionResponse,
  digest: string,
  nowMs: number,
): VerifiedToken {
  const { active, iss, aud, exp = Infinity, nbf = 0, token_type: type = 'Bearer' } = response
  const skewMs = clockSkewSeconds * 1000
  if (!active) throw new AuthenticationError('inactive_token')
  if (iss !== undefined && iss !== settings.issuer) throw new AuthenticationError('unknown_issuer')
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!settings.audience.some((audience) => audiences.includes(audience))) {
    throw new AuthenticationError('wrong_audience')
  }
  // Refresh tokens and key-bound tokens are active, too.
  if (!/^(bearer|access_token)$/i.test(type)) throw new AuthenticationError('wrong_token_type')
  if (exp * 1000 + skewMs <= nowMs) throw new AuthenticationError('expired_token')
  if (nbf * 1000 - skewMs > nowMs) throw new AuthenticationError('token_not_yet_valid')
  return createVerifiedToken(settings.name, readCaller(response), response, digest)
}
