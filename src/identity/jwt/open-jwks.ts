import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import { createUndiciConnector, type Outbound } from '../../outbound/index.ts'
import type { ReportEvent } from '../identity-event.ts'
import type { TokenIssuer } from '../../config/index.ts'
import { parseJwks, reportChange, type Jwks, type JwksSnapshot } from './jwks.ts'
import { createDiscoveryFetcher, createUrlFetcher, type FetchJwks } from './fetch-jwks.ts'
import { defaultJwksTiming, openRemoteJwks, type JwksTiming } from './remote-jwks.ts'
import { fileStamp, followFiles } from '../../lib/index.ts'

export interface JwksOptions {
  readonly reloadIntervalMs: number
  /** Deviations from `defaultJwksTiming`. */
  readonly jwksTiming?: Partial<JwksTiming>
  readonly report: ReportEvent
  readonly outbound: Outbound
  /** Current time in milliseconds. */
  readonly now: () => number
}

/** Opens the JWKS of an issuer. Rejects if a file cannot be read, but not if a URL is unreachable. */
export async function openJwks(issuer: TokenIssuer, options: JwksOptions): Promise<Jwks> {
  const { jwks, name } = issuer
  if ('file' in jwks) return await openJwksFile(jwks.file, name, options)
  const fetch = await openIssuerFetcher(issuer, jwks.url, options.outbound)
  return await openFetchedJwks(issuer, fetch, options)
}

/** Reads the TLS files of an issuer, and fetches its keys from their URL, or from that in its metadata. */
export async function openIssuerFetcher(
  { name, issuer, caFile }: Pick<TokenIssuer, 'name' | 'issuer' | 'caFile'>,
  url: string | undefined,
  outbound: Outbound,
): Promise<FetchJwks> {
  const opener = await outbound.openClient(`identity.issuers.${name}`, { caFile })
  const dispatcher = new Agent({ connect: createUndiciConnector(opener, defaultJwksTiming.timeout * 1000) })
  return url === undefined ? createDiscoveryFetcher(issuer, dispatcher) : createUrlFetcher(url, dispatcher)
}

export async function openFetchedJwks(
  { name }: { readonly name: string },
  fetch: FetchJwks,
  { now, report, jwksTiming }: JwksOptions,
): Promise<Jwks> {
  const timing = { ...defaultJwksTiming, ...jwksTiming }
  return await openRemoteJwks({ name, now, report, fetch, timing })
}

/** Reads a JWKS document (RFC 7517). Rejects if it is none; keys of `last` are taken over. */
export async function readJwksFile(file: string, last?: JwksSnapshot): Promise<JwksSnapshot> {
  return parseJwks(JSON.parse(await readFile(file, 'utf8')), last)
}

async function openJwksFile(file: string, name: string, options: JwksOptions): Promise<Jwks> {
  const { now, report } = options
  let fetchedAt = now()
  let fetches = 1
  let consecutiveFailures = 0
  let last: JwksSnapshot | undefined
  const followed = await followFiles({
    stamp: () => fileStamp(file),
    read: async () => (last = await readJwksFile(file, last)),
    intervalMs: options.reloadIntervalMs,
    onChange(snapshot) {
      fetches++
      fetchedAt = now()
      consecutiveFailures = 0
      reportChange(snapshot, name, report)
    },
    onError(cause) {
      fetches++
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
    status: () => ({
      keyCount: followed.current.keyCount,
      isUsable: true,
      fetchedAt,
      fetches,
      consecutiveFailures,
    }),
    close: async () => followed.close(),
  }
}
