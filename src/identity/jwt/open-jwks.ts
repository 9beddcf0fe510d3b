import { readFile } from 'node:fs/promises'
import type { ReportEvent } from '../identity-event.ts'
import type { JwksTiming, TokenIssuer } from '../../config/identity/token-issuer-settings.ts'
import { createJwksFile } from './jwks-file.ts'
import { parseJwks, type Jwks } from './jwks.ts'
import { createDiscoveryFetcher, createUrlFetcher, type FetchJwks } from './fetch-jwks.ts'
import { openRemoteJwks } from './remote-jwks.ts'
import { watchFile } from '../../lib/fs/watch-file.ts'

export interface JwksOptions {
  readonly reloadIntervalMs: number
  /** Folder in which the last valid JWKS of issuers are cached. */
  readonly jwksCacheFolder: string | undefined
  readonly report: ReportEvent
  /** Current time in milliseconds. */
  readonly now: () => number
}

/** Opens the JWKS of an issuer. Rejects if a file cannot be read, but not if a URL is unreachable. */
export async function openJwks(issuer: TokenIssuer, options: JwksOptions): Promise<Jwks> {
  const { jwks, name } = issuer
  if ('file' in jwks) return await openJwksFile(jwks.file, name, options)
  const fetch = jwks.url === undefined ? createDiscoveryFetcher(issuer.issuer) : createUrlFetcher(jwks.url)
  return await openFetchedJwks(issuer, jwks, fetch, options)
}

export async function openFetchedJwks(
  { name, issuer }: { readonly name: string; readonly issuer: string },
  timing: JwksTiming,
  fetch: FetchJwks,
  { now, report, jwksCacheFolder }: JwksOptions,
): Promise<Jwks> {
  const jwksFile = jwksCacheFolder === undefined ? undefined : createJwksFile(jwksCacheFolder, name, issuer)
  return await openRemoteJwks(timing, { name, now, report, fetch, jwksFile })
}

async function openJwksFile(file: string, name: string, options: JwksOptions): Promise<Jwks> {
  const { now, report } = options
  let snapshot = parseJwks(await readFile(file, 'utf8'), undefined)
  let fetchedAt = now()
  let fetches = 0
  let consecutiveFailures = 0

  function replaceKeys(text: string): void {
    snapshot = parseJwks(text, snapshot)
    fetches++
    fetchedAt = now()
    consecutiveFailures = 0
    report({ source: name, outcome: 'changed' })
  }

  const watched = await watchFile(file, replaceKeys, {
    intervalMs: options.reloadIntervalMs,
    onError(cause) {
      fetches++
      consecutiveFailures++
      report({ source: name, outcome: 'failed', cause })
    },
  })
  return {
    current: () => snapshot,
    // The file is watched; an unknown key in a token does not make it newer.
    refresh: async () => snapshot,
    status: () => ({ keyCount: snapshot.keyCount, isUsable: true, fetchedAt, fetches, consecutiveFailures }),
    close: async () => watched.close(),
  }
}
