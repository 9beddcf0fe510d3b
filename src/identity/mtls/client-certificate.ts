import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { isValidPrincipalName } from '../jwt/claims.ts'
import { isCompleteChain, readClientChain } from '../../lib/index.ts'
import type { ClientCertificateSettings } from '../../config/index.ts'
import type { Principal } from '../principal.ts'
import { AuthenticationError } from '../authentication-error.ts'

export interface VerifiedCertificate {
  readonly principal: Principal
  /** SHA-256 of the certificate in base64url, as in tokens bound to it (RFC 8705). */
  readonly thumbprint: string
  /** When all certificates of its chain are valid, in milliseconds; NaN if a time cannot be parsed. */
  readonly startsAtMs: number
  readonly expiresAtMs: number
}

/**
 * Reads the certificate that a trusted proxy has verified, or else that of the connection. Undefined without either.
 * Throws AuthenticationError for a certificate that TLS did not verify for this connection, whose issuers are not all
 * known, that has expired since, as may its issuers, or that does not identify exactly one caller. Of a forwarded one,
 * the proxy is trusted for the chain. `now` is the time in milliseconds.
 */
export function createCertificateReader({ name }: ClientCertificateSettings, now: () => number) {
  // The certificate of a connection does not change between its requests.
  const cache = new WeakMap<Socket | X509Certificate, VerifiedCertificate>()

  function read(connection: Socket | undefined, forwarded: X509Certificate | undefined) {
    const source = forwarded ?? connection
    if (source === undefined) return undefined
    const cached = cache.get(source)
    if (cached !== undefined) return cached
    const chain = forwarded === undefined ? readVerifiedChain(connection) : [forwarded]
    const [certificate] = chain
    if (certificate === undefined) return undefined
    const verified = identify(name, certificate, chain)
    cache.set(source, verified)
    return verified
  }

  return (connection: Socket | undefined, forwarded: X509Certificate | undefined) => {
    const verified = read(connection, forwarded)
    if (verified === undefined) return undefined
    // Both also if the time is invalid.
    if (!(now() >= verified.startsAtMs)) throw new AuthenticationError('untrusted_certificate')
    if (!(now() < verified.expiresAtMs)) throw new AuthenticationError('expired_certificate')
    return verified
  }
}

/** Empty without a certificate. */
function readVerifiedChain(connection: Socket | undefined): readonly X509Certificate[] {
  if (!(connection instanceof TLSSocket)) return []
  const chain = readClientChain(connection)
  if (chain.length === 0) return chain
  if (!connection.authorized) throw new AuthenticationError('untrusted_certificate')
  // It was verified by the authorities and the revocation list of an earlier connection.
  if (connection.isSessionReused()) throw new AuthenticationError('resumed_tls_session')
  if (!isCompleteChain(chain)) throw new AuthenticationError('unknown_certificate_issuer')
  return chain
}

function identify(
  name: string,
  certificate: X509Certificate,
  chain: readonly X509Certificate[],
): VerifiedCertificate {
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  return {
    principal: {
      name: `${name}:${findSoleUri(certificate.subjectAltName ?? '')}`,
      method: 'certificate',
      groups: new Set(),
      credentialId: fingerprint,
      issuer: name,
    },
    thumbprint: Buffer.from(fingerprint, 'hex').toString('base64url'),
    startsAtMs: Math.max(...chain.map(({ validFrom }) => Date.parse(validFrom))),
    expiresAtMs: Math.min(...chain.map(({ validTo }) => Date.parse(validTo))),
  }
}

/** Names are listed as `DNS:a, URI:b`; quoted, ambiguous ones (CVE-2021-44532) are not supported. */
function findSoleUri(alternativeNames: string): string {
  const uris = alternativeNames.split(', ').filter((entry) => entry.startsWith('URI:'))
  const uri = uris[0]?.slice('URI:'.length)
  if (alternativeNames.includes('"') || uris.length !== 1 || !isValidPrincipalName(uri)) {
    throw new AuthenticationError('invalid_certificate_name')
  }
  return uri
}
