import {
  assertIdentifier,
  describeJoinedName,
  formatNameList,
  type Identifier,
  splitNames,
} from '../catalog-api/index.ts'
import type { CallerLimitSettings } from './caller-limit-settings.ts'
import type { IdentitySettings } from './identity-settings.ts'
import type { ListenSettings } from './listen-settings.ts'
import type { PolicyKubernetesSettings } from './policy-settings.ts'
import { findErrorMessage, type SettingProblem } from '../settings/index.ts'
import type { MetricsSettings } from './telemetry-settings.ts'

interface ClientStatementSettings {
  readonly listen: ListenSettings
  readonly identity: Pick<IdentitySettings, 'clientCertificates'>
}

/** Yields the settings about addresses and certificates of clients that have no effect, or exclude each other. */
export function* findClientStatementProblems({
  listen: { trustedProxies, clientAddressFrom, clientCertificateFrom, tls },
  identity: { clientCertificates },
}: ClientStatementSettings): Generator<SettingProblem> {
  const requestsCertificates = tls !== undefined && tls.clientAuth !== 'none'
  if (clientAddressFrom !== undefined && trustedProxies.length === 0) {
    yield {
      path: ['listen', 'clientAddressFrom'],
      message: 'expected listen.trustedProxies: what other peers state about addresses is never used',
    }
  }
  if (clientCertificateFrom === undefined) {
    if (clientCertificates === undefined || requestsCertificates) return
    yield {
      path: ['identity', 'clientCertificates'],
      message:
        'expected listen.tls.clientAuth to be optional or required, or listen.clientCertificateFrom: no client ' +
        'certificate is requested',
    }
    return
  }
  const path = ['listen', 'clientCertificateFrom']
  if (trustedProxies.length === 0) {
    yield {
      path,
      message: 'expected listen.trustedProxies: what other peers state about certificates is never used',
    }
  }
  if (clientAddressFrom === 'proxy-protocol') {
    yield {
      path,
      message:
        'unexpected with listen.clientAddressFrom: proxy-protocol, whose proxies may pass on the headers of their ' +
        'clients; expected x-forwarded-for or forwarded there',
    }
  }
  if (requestsCertificates) {
    yield {
      path,
      message:
        'unexpected with listen.tls.clientAuth, which requests certificates itself; expected none there',
    }
  }
  if (clientCertificates === undefined) {
    yield {
      path,
      message: 'expected identity.clientCertificates, which names the principals of certificates',
    }
  }
}

interface SettingsOfNamespaces {
  readonly limits: Pick<CallerLimitSettings, 'rates' | 'byteQuotas' | 'concurrency'>
  readonly metrics?: MetricsSettings | undefined
  readonly policies: { readonly kubernetes?: PolicyKubernetesSettings | undefined }
}

/**
 * Returns the namespaces that no object can have, by the separators of all upstreams: the setting would silently apply to
 * nothing.
 */
export function findImpossibleNamespaces(
  { limits, metrics, policies }: SettingsOfNamespaces,
  separators: readonly string[],
): readonly SettingProblem[] {
  function find(path: readonly (string | number)[], ids: readonly Identifier[] = []): SettingProblem[] {
    return ids.flatMap((names, index) => {
      const message = describeImpossible(names, separators)
      return message === undefined ? [] : [{ path: [...path, index], message }]
    })
  }
  return [
    ...(['rates', 'byteQuotas', 'concurrency'] as const).flatMap((kind) =>
      limits[kind].flatMap(({ namespaces }, index) =>
        find(['limits', kind, index, 'namespaces'], namespaces),
      ),
    ),
    ...find(
      ['metrics', 'namespaces'],
      metrics?.namespaces?.map((name) => [name]),
    ),
    ...(policies.kubernetes?.namespaces ?? []).flatMap((namespace, index) =>
      namespace.platform
        ? []
        : find(
            ['policies', 'kubernetes', 'namespaces', index, 'catalogNamespaces'],
            namespace.catalogNamespaces,
          ),
    ),
  ]
}

function describeImpossible(names: Identifier, separators: readonly string[]): string | undefined {
  const expected = (): string =>
    formatNameList(names.flatMap((name) => splitNames(name, ['/', ...separators])))
  for (const name of names) {
    const message = describeJoinedName(name, separators, expected)
    if (message !== undefined) return message
  }
  return findErrorMessage(() => assertIdentifier(names))
}
