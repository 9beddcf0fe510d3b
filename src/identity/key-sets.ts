import { readFile } from 'node:fs/promises'
import type { ReportEvent } from './event.ts'
import type { TokenIssuer } from './issuers.ts'
import { readKeySet, type KeySet } from './key-set.ts'
import { openRemoteKeySet } from './remote-key-set.ts'
import { watchFile } from './watch-file.ts'

/** How key sets are kept. */
export interface KeySetOptions {
  readonly reloadIntervalMs: number
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
  const { now, report } = options
  if ('url' in jwks) return await openRemoteKeySet(jwks, { name, now, report })
  return await openKeyFile(jwks.file, name, options)
}

async function openKeyFile(file: string, name: string, options: KeySetOptions): Promise<KeySet> {
  const { now, report } = options
  let snapshot = readKeySet(await readFile(file, 'utf8'), undefined)
  let fetchedAt = now()
  let fetches = 0
  let failuresInARow = 0

  function take(text: string): void {
    const before = snapshot
    snapshot = readKeySet(text, before)
    fetches++
    fetchedAt = now()
    failuresInARow = 0
    if (snapshot !== before) report({ source: name, outcome: 'changed' })
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
    close: () => watched.close(),
  }
}
