import { Gauge, type Registry } from 'prom-client'
import { registerGauge } from './register-gauge.ts'
import type { Authenticator } from '../../identity/authenticate.ts'
import type { JwksStatus } from '../../identity/jwt/jwks.ts'

export function registerIdentityMetrics(
  registry: Registry,
  authenticator: Pick<Authenticator, 'status'>,
): void {
  registerIssuerMetrics(registry, authenticator)
  const gauge = (name: string, help: string, read: () => number | undefined): void =>
    registerGauge(registry, name, help, read)
  const keys = () => authenticator.status().apiKeys
  gauge('api_keys', 'API keys in the store, including revoked and expired ones.', () => keys().keys)
  gauge(
    'api_keys_outdated',
    'Whether the API key store has errors (1); the last valid keys, or only the valid entries after a start, are in use.',
    () => (keys().isOutdated ? 1 : 0),
  )
  gauge(
    'api_keys_next_expiry_timestamp_seconds',
    'Unix time at which the next principal loses its last API key; absent if there is none.',
    () => {
      const { nextExpiryMs } = keys()
      return nextExpiryMs && nextExpiryMs / 1000
    },
  )
  gauge(
    'token_cache_entries',
    'Verified bearer tokens in the cache.',
    () => authenticator.status().cachedTokens,
  )
}

function registerIssuerMetrics(registry: Registry, authenticator: Pick<Authenticator, 'status'>): void {
  const gauge = (name: string, help: string, read: (status: JwksStatus) => number | undefined) =>
    new Gauge({
      name: `catalog_gateway_jwks_${name}`,
      help,
      labelNames: ['issuer'],
      registers: [registry],
      collect() {
        for (const { name: issuer, ...status } of authenticator.status().issuers) {
          const value = read(status)
          if (value !== undefined) this.set({ issuer }, value)
        }
      },
    })
  gauge('keys', 'Keys in the JWKS of the issuer that can verify signatures.', ({ keyCount }) => keyCount)
  gauge('usable', 'Whether tokens of the issuer can be verified (1) or not (0).', ({ isUsable }) =>
    isUsable ? 1 : 0,
  )
  gauge(
    'last_fetch_timestamp_seconds',
    'Unix time of the last successful fetch of the JWKS of the issuer.',
    ({ fetchedAt }) => fetchedAt && fetchedAt / 1000,
  )
  gauge(
    'consecutive_fetch_failures',
    'Consecutive failed fetches of the JWKS of the issuer.',
    ({ consecutiveFailures }) => consecutiveFailures,
  )
}
