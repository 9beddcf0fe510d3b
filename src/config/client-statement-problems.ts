import type { IdentitySettings } from './identity/identity-settings.ts'
import type { ListenSettings } from './listen-settings.ts'

interface ClientStatementSettings {
  readonly listen: ListenSettings
  readonly identity: Pick<IdentitySettings, 'clientCertificates'>
}

interface ClientStatementProblem {
  readonly path: readonly string[]
  readonly message: string
}

/** Yields the settings about addresses and certificates of clients that have no effect, or exclude each other. */
export function* findClientStatementProblems({
  listen: { trustedProxies, clientAddressFrom, clientCertificateFrom, tls },
  identity: { clientCertificates },
}: ClientStatementSettings): Generator<ClientStatementProblem> {
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
