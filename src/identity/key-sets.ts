import { readFile } from 'node:fs/promises'
import type { ReportEvent } from './event.ts'
import type { KeyTimes, TokenIssuer } from './issuers.ts'
import { keptKeysIn } from './kept-keys.ts'
import { readKeySet, type KeySet } from './key-set.ts'
import { discoveredKeys, keysAt, type FetchKeys } from './key-source.ts'
import { openRemoteKeySet } from './remote-key-set.ts'
import { watchFile } from './watch-file.ts'

/** How key sets are kept. */
export interface KeySetOptions {
  readonly reloadIntervalMs: number
  /** Where the last good keys of issuers are kept. */
  readonly jwksCacheFolder: string | undefined
  readonly report: ReportEvent
  /** The time in milliseconds. */
  readonly now: () => number
}

/**
 * Opens the keys of an issuer; throws if they are a file that cannot be read, but not if a URL is
 * unreachable.
 */
export async function openKeySet(issuer: TokenIssuer, options: KeySetOptions): Promise<KeySet> {
  const { jwks, name } = issuer
  if ('file' in jwks) return await openKeyFile(jwks.file, name, options)
  const fetch = jwks.url === undefined ? discoveredKeys(issuer.issuer) : keysAt(jwks.url)
  return await openFetchedKeys(issuer, jwks, fetch, options)
}

/** Opens keys that are fetched, and keeps them in the folder of the options. */
export async function openFetchedKeys(
  { name, issuer }: { readonly name: string; readonly issuer: string },
  times: KeyTimes,
  fetch: FetchKeys,
  { now, report, jwksCacheFolder }: KeySetOptions,
): Promise<KeySet> {
  const kept = jwksCacheFolder === undefined ? undefined : keptKeysIn(jwksCacheFolder, name, issuer)
  return await openRemoteKeySet(times, { name, now, report, fetch, kept })
}

async function openKeyFile(file: string, name: string, options: KeySetOptions): Promise<KeySet> {
  const { now, report } = options
  let snapshot = readKeySet(await readFile(file, 'utf8'), undefined)
  let fetchedAt = now()
  let fetches = 0
  let failuresInARow = 0

  function take(text: string): void {
    snapshot = readKeySet(text, snapshot)
    fetches++
    fetchedAt = now()
    failuresInARow = 0
    report({ source: name, outcome: 'changed' })
  }

  const watched = await watchFile(file, take, {
    intervalMs: options.reloadIntervalMs,
    failed(cause) {
      fetches++
      failuresInARow++
      report({ source: name, outcome: 'failed', cause })
    },
  })
  return {
    current: () => snapshot,
    // The file is followed all the time; a token that names an unknown key makes it no newer.
    refresh: async () => snapshot,
    status: () => ({ keys: snapshot.keys, usable: true, fetchedAt, fetches, failuresInARow }),
    close: async () => watched.close(),
  }
}
