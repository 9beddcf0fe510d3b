import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import { z } from 'zod'
import { createUndiciConnector } from '../../outbound/index.ts'
import { type IdentityRuntime, jwksTiming, type ReportEvent } from '../runtime.ts'
import type { TokenIssuer } from '../../config/index.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { fetchDocument } from '../fetch-document.ts'
import { parseJwks, type KeySet } from './jwks.ts'
import { Backoff, fileStamp, followFiles } from '../../lib/index.ts'
import { trustworthyUrlSchema } from '../../settings/index.ts'

/** The keys of an issuer, which follow their file or URL until closed. */
export type Jwks = Awaited<ReturnType<typeof openRemoteJwks>>

export type JwksStatus = ReturnType<Jwks['status']>

/** Opens the JWKS of an issuer. Rejects if a file cannot be read, but not if a URL is unreachable. */
export async function openJwks(
  { name, issuer, jwks, caFile }: TokenIssuer,
  runtime: IdentityRuntime,
): Promise<Jwks> {
  if ('file' in jwks) return openJwksFile(jwks.file, name, runtime)
  const opener = await runtime.outbound.openClient(`identity.issuers.${name}`, { caFile })
  const dispatcher = new Agent({ connect: createUndiciConnector(opener, jwksTiming.timeout * 1000) })
  // Fetches are too rare for an idle connection to be useful.
  const fetch = (url: string, signal: AbortSignal): Promise<unknown> =>
    fetchDocument(url, { signal, dispatcher, headers: { connection: 'close' } })
  const metadataUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  return openRemoteJwks(name, runtime, async (signal) => {
    if (jwks.url !== undefined) return fetch(jwks.url, signal)
    // OpenID Connect Discovery 1.0 (section 4), each time: keys may move.
    const discovered = discoverySchema.parse(await fetch(metadataUrl, signal))
    assertIssuer(discovered.issuer, issuer)
    return fetch(discovered.jwks_uri, signal)
  })
}

const discoverySchema = z.looseObject({ issuer: z.string(), jwks_uri: trustworthyUrlSchema })

/** Throws if metadata are of another issuer, which could impersonate this one. */
export function assertIssuer(actual: string, expected: string): void {
  if (actual !== expected)
    throw new Error('the issuer in the discovery document differs from the configured one')
}

/** Reads a JWKS document (RFC 7517). Rejects if it is none. Returns `before` if unchanged. */
export async function readJwksFile(file: string, before?: KeySet): Promise<KeySet> {
  return parseJwks(JSON.parse(await readFile(file, 'utf8')), before)
}

async function openJwksFile(
  file: string,
  name: string,
  { now, report, reloadIntervalMs }: IdentityRuntime,
): Promise<Jwks> {
  let fetchedAt = now()
  let consecutiveFailures = 0
  let last: KeySet | undefined
  const followed = await followFiles({
    stamp: () => fileStamp(file),
    read: async () => (last = await readJwksFile(file, last)),
    intervalMs: reloadIntervalMs,
    onChange(keys) {
      fetchedAt = now()
      consecutiveFailures = 0
      reportChange(keys, name, report)
    },
    onError(cause) {
      consecutiveFailures++
      report({ source: name, outcome: 'failed', cause })
    },
  })
  reportChange(followed.current, name, report)
  return {
    current: () => followed.current,
    async refresh() {
      await followed.refresh()
      return followed.current
    },
    status: () => ({ keyCount: followed.current.keyCount, isUsable: true, fetchedAt, consecutiveFailures }),
    close: async () => followed.close(),
  }
}

/**
 * Fetches keys before they expire, and when a token refers to an unknown key; concurrent requests share one fetch,
 * limited to one per cooldown. If the first fetch fails, opens without keys. `name` is that of the issuer in reports;
 * `fetch` returns the JSON of a JWKS.
 */
export async function openRemoteJwks(
  name: string,
  { now, report, jwksTiming: changes }: IdentityRuntime,
  fetch: (signal: AbortSignal) => Promise<unknown>,
) {
  const timing = { ...jwksTiming, ...changes }
  const cooldownMs = timing.cooldown * 1000
  const retryDelays = new Backoff({ minMs: Math.min(1_000, cooldownMs), maxMs: cooldownMs })
  const closing = new AbortController()
  let keys: KeySet | undefined
  let fetchedAt: number | undefined
  let consecutiveFailures = 0
  let lastFailure: unknown
  let pending: Promise<void> | undefined
  let demandedAt = -Infinity
  let timer: NodeJS.Timeout | undefined

  async function fetchNow(): Promise<void> {
    clearTimeout(timer)
    try {
      const timeout = AbortSignal.timeout(timing.timeout * 1000)
      const document = await fetch(AbortSignal.any([timeout, closing.signal]))
      const before = keys
      keys = parseJwks(document, before)
      fetchedAt = now()
      consecutiveFailures = 0
      retryDelays.reset()
      if (keys !== before) reportChange(keys, name, report)
    } catch (cause) {
      consecutiveFailures++
      lastFailure = cause
      if (!closing.signal.aborted) report({ source: name, outcome: 'failed', cause })
    }
  }

  /** Starts a fetch, or joins the one in progress. The next one is before the keys expire, or soon after a failure. */
  function fetchKeys(): Promise<void> {
    pending ??= fetchNow().finally(() => {
      pending = undefined
      if (closing.signal.aborted) return
      const delayMs = consecutiveFailures === 0 ? timing.refresh * 800 : retryDelays.next()
      timer = setTimeout(() => void fetchKeys(), delayMs).unref()
    })
    return pending
  }

  function current(): KeySet | undefined {
    return fetchedAt !== undefined && now() - fetchedAt < timing.maxStale * 1000 ? keys : undefined
  }

  await fetchKeys()
  return {
    /** Returns the keys; undefined if there are none yet or they are too old to be trusted. */
    current,
    /** Reads newer keys if the cooldown permits. Rejects with AuthenticationError (`jwks_unavailable`). */
    async refresh(): Promise<KeySet> {
      // Fetches in the background have no part in the cooldown, so that they do not delay the discovery of a new key.
      if (pending === undefined && performance.now() - demandedAt >= cooldownMs) {
        demandedAt = performance.now()
        void fetchKeys()
      }
      await pending
      const fresh = current()
      // While the issuer is unavailable, an unknown key cannot be ruled out.
      if (fresh === undefined || consecutiveFailures > 0)
        throw new AuthenticationError('jwks_unavailable', lastFailure)
      return fresh
    },
    status: () => ({
      keyCount: keys?.keyCount ?? 0,
      /** False: no token of the issuer can be verified. */
      isUsable: current() !== undefined,
      /** Time of the last successful read, in milliseconds. */
      fetchedAt,
      consecutiveFailures,
    }),
    /** Resolves when all background work has ended. */
    async close(): Promise<void> {
      closing.abort()
      clearTimeout(timer)
      await pending
    },
  }
}

/** Reports new keys, and once which of them are unusable. */
function reportChange({ unusable }: KeySet, source: string, report: ReportEvent): void {
  report({ source, outcome: 'changed' })
  if (unusable !== '') report({ source, outcome: 'unusable-keys', cause: unusable })
}
