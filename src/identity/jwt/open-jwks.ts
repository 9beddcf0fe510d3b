import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import { createUndiciConnector, type Outbound } from '../../outbound/index.ts'
import type { IdentityRuntime } from '../runtime.ts'
import type { TokenIssuer } from '../../config/index.ts'
import { parseJwks, reportChange, type Jwks, type JwksSnapshot } from './jwks.ts'
import { createDiscoveryFetcher, createUrlFetcher, type FetchJwks } from './fetch-jwks.ts'
import { defaultJwksTiming, openRemoteJwks } from './remote-jwks.ts'
import { fileStamp, followFiles } from '../../lib/index.ts'

/** Opens the JWKS of an issuer. Rejects if a file cannot be read, but not if a URL is unreachable. */
export async function openJwks(issuer: TokenIssuer, runtime: IdentityRuntime): Promise<Jwks> {
  const { jwks, name } = issuer
  if ('file' in jwks) return await openJwksFile(jwks.file, name, runtime)
  const fetch = await openIssuerFetcher(issuer, jwks.url, runtime.outbound)
  return await openRemoteJwks(name, fetch, runtime)
}

/** Reads the TLS files of an issuer, and fetches its keys from their URL, or from that in its metadata. */
async function openIssuerFetcher(
  { name, issuer, caFile }: Pick<TokenIssuer, 'name' | 'issuer' | 'caFile'>,
  url: string | undefined,
  outbound: Outbound,
): Promise<FetchJwks> {
  const opener = await outbound.openClient(`identity.issuers.${name}`, { caFile })
  const dispatcher = new Agent({ connect: createUndiciConnector(opener, defaultJwksTiming.timeout * 1000) })
  return url === undefined ? createDiscoveryFetcher(issuer, dispatcher) : createUrlFetcher(url, dispatcher)
}

/** Reads a JWKS document (RFC 7517). Rejects if it is none; keys of `last` are taken over. */
export async function readJwksFile(file: string, last?: JwksSnapshot): Promise<JwksSnapshot> {
  return parseJwks(JSON.parse(await readFile(file, 'utf8')), last)
}

async function openJwksFile(file: string, name: string, runtime: IdentityRuntime): Promise<Jwks> {
  const { now, report, reloadIntervalMs } = runtime
  let fetchedAt = now()
  let fetches = 1
  let consecutiveFailures = 0
  let last: JwksSnapshot | undefined
  const followed = await followFiles({
    stamp: () => fileStamp(file),
    read: async () => (last = await readJwksFile(file, last)),
    intervalMs: reloadIntervalMs,
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
