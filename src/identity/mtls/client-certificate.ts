import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { isValidPrincipalName } from '../jwt/claims.ts'
import type { ClientCertificateSettings } from '../../config/identity/client-certificate-settings.ts'
import type { Principal } from '../principal.ts'
import { AuthenticationError } from '../authentication-error.ts'

export interface VerifiedCertificate {
  readonly principal: Principal
  /** SHA-256 of the certificate in base64url, as in tokens bound to it (RFC 8705). */
  readonly thumbprint: string
}

/**
 * Undefined without a certificate. Throws AuthenticationError for a certificate that TLS did not verify, that has
 * expired since, or that does not identify exactly one caller. `now` is the time in milliseconds.
 */
export function createCertificateReader(
  settings: ClientCertificateSettings,
  now: () => number,
): (connection: Socket | undefined) => VerifiedCertificate | undefined {
  // The certificate of a connection does not change between its requests.
  const cache = new WeakMap<Socket, VerifiedCertificate & { readonly expiresAtMs: number }>()

  function read(connection: TLSSocket, certificate: X509Certificate) {
    if (!connection.authorized) throw new AuthenticationError('untrusted_certificate')
    const verified = { ...verifyCertificate(settings, certificate), expiresAtMs: getChainExpiry(certificate) }
    cache.set(connection, verified)
    return verified
  }

  return (connection) => {
    if (!(connection instanceof TLSSocket)) return undefined
    let verified = cache.get(connection)
    if (verified === undefined) {
      const certificate = connection.getPeerX509Certificate()
      if (certificate === undefined) return undefined
      verified = read(connection, certificate)
    }
    // Also false if the time is invalid.
    if (!(now() < verified.expiresAtMs)) throw new AuthenticationError('expired_certificate')
    return verified
  }
}

/** Returns when the first certificate of the chain expires, in milliseconds; NaN if a time cannot be parsed. */
function getChainExpiry(certificate: X509Certificate): number {
  let expiresAtMs = Infinity
  const seen = new Set<string>()
  for (let one: X509Certificate | undefined = certificate; one !== undefined; one = one.issuerCertificate) {
    // A self-signed authority is its own issuer.
    if (seen.has(one.fingerprint256)) break
    seen.add(one.fingerprint256)
    expiresAtMs = Math.min(expiresAtMs, Date.parse(one.validTo))
  }
  return expiresAtMs
}

function verifyCertificate(
  { name, sanType }: ClientCertificateSettings,
  certificate: X509Certificate,
): VerifiedCertificate {
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  return {
    principal: {
      name: `${name}:${findSoleName(certificate.subjectAltName ?? '', sanType)}`,
      method: 'certificate',
      groups: new Set(),
      credentialId: fingerprint,
      issuer: name,
    },
    thumbprint: Buffer.from(fingerprint, 'hex').toString('base64url'),
  }
}

const subjectAltNameLabels = { uri: 'URI', dns: 'DNS', email: 'email' } as const

/** Names are listed as `DNS:a, URI:b`; quoted, ambiguous ones (CVE-2021-44532) are not supported. */
function findSoleName(alternativeNames: string, kind: keyof typeof subjectAltNameLabels): string {
  const label = `${subjectAltNameLabels[kind]}:`
  const names = alternativeNames.split(', ').filter((entry) => entry.startsWith(label))
  const name = names[0]?.slice(label.length)
  if (alternativeNames.includes('"') || names.length !== 1 || !isValidPrincipalName(name)) {
    throw new AuthenticationError('invalid_certificate_name')
  }
  // Host names are case-insensitive.
  return kind === 'dns' ? name.toLowerCase() : name
}
