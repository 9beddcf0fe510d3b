import { Gauge, type Aggregator, type Registry } from 'prom-client'
import type { Authenticator } from '../../identity/authenticate.ts'
import type { KeySetStatus } from '../../identity/key-set.ts'

/** Adds gauges of the keys that callers are known by; they are read when they are asked for. */
export function observeIdentity(registry: Registry, authenticator: Pick<Authenticator, 'status'>): void {
  observeIssuers(registry, authenticator)
  const gauge = (name: string, aggregator: Aggregator, help: string, read: () => number | undefined) =>
    new Gauge({
      name: `catalog_gateway_${name}`,
      help,
      aggregator,
      registers: [registry],
      collect() {
        // 0 would be a time, and the default of a gauge.
        const value = read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  const keys = () => authenticator.status().apiKeys
  gauge(
    'api_keys',
    'max',
    'API keys in the store, also those that are revoked or have expired.',
    () => keys().keys,
  )
  gauge(
    'api_keys_outdated',
    'max',
    'Whether the store of API keys has changed into something that cannot be read (1); the last good keys serve.',
    () => (keys().outdated ? 1 : 0),
  )
  gauge(
    'api_keys_next_end_timestamp_seconds',
    'min',
    'When the next principal will be left without an API key, since 1970; absent where none will.',
    () => {
      const { nextEnd } = keys()
      return nextEnd && nextEnd / 1000
    },
  )
  gauge(
    'remembered_tokens',
    'sum',
    'Verified bearer tokens that are remembered.',
    () => authenticator.status().rememberedTokens,
  )
}

function observeIssuers(registry: Registry, authenticator: Pick<Authenticator, 'status'>): void {
  const gauge = (
    name: string,
    aggregator: Aggregator,
    help: string,
    read: (status: KeySetStatus) => number | undefined,
  ) =>
    new Gauge({
      name: `catalog_gateway_key_set_${name}`,
      help,
      aggregator,
      labelNames: ['issuer'],
      registers: [registry],
      collect() {
        for (const { name: issuer, ...status } of authenticator.status().issuers) {
          const value = read(status)
          if (value !== undefined) this.set({ issuer }, value)
        }
      },
    })
  gauge('keys', 'max', 'Keys that the issuer publishes, as far as is known.', ({ keys }) => keys)
  gauge('usable', 'min', 'Whether tokens of the issuer can be verified (1) or not (0).', ({ usable }) =>
    usable ? 1 : 0,
  )
  gauge(
    'fetched_timestamp_seconds',
    'min',
    'When the keys of the issuer were last had, since 1970.',
    ({ fetchedAt }) => fetchedAt && fetchedAt / 1000,
  )
  gauge(
    'failed_fetches',
    'max',
    'How often the keys could not be had since they last were.',
    ({ failuresInARow }) => failuresInARow,
  )
}
