import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { isValidPrincipalName } from '../jwt/claims.ts'
import type { ClientCertificateSettings } from '../../config/identity/client-certificate-settings.ts'
import type { Principal } from '../principal.ts'
import { AuthenticationError } from '../authentication-error.ts'

/** A caller who is known by a certificate. */
export interface VerifiedCertificate {
  readonly principal: Principal
  /** The SHA-256 of the certificate in base64url, as tokens that are bound to it say it (RFC 8705). */
  readonly thumbprint: string
}

/**
 * Reads the caller from the certificate of a connection: undefined where it has none. Throws AuthenticationRefused
 * for a certificate that TLS did not verify, that has ended since, or that does not name exactly one caller. `now` is
 * the time in milliseconds.
 */
export function createCertificateReader(
  settings: ClientCertificateSettings,
  now: () => number,
): (connection: Socket | undefined) => VerifiedCertificate | undefined {
  // A connection keeps its certificate, and has many requests.
  const known = new WeakMap<Socket, VerifiedCertificate & { readonly endsAt: number }>()

  function read(connection: TLSSocket, certificate: X509Certificate) {
    if (!connection.authorized) throw new AuthenticationError('untrusted_certificate')
    const verified = { ...verifyCertificate(settings, certificate), endsAt: chainExpiry(certificate) }
    known.set(connection, verified)
    return verified
  }

  return (connection) => {
    if (!(connection instanceof TLSSocket)) return undefined
    let verified = known.get(connection)
    if (verified === undefined) {
      const certificate = connection.getPeerX509Certificate()
      if (certificate === undefined) return undefined
      verified = read(connection, certificate)
    }
    // Also false where the time cannot be read.
    if (!(now() < verified.endsAt)) throw new AuthenticationError('expired_certificate')
    return verified
  }
}

/** When the first certificate of the chain ends, in milliseconds; NaN if one of these times cannot be read. */
function chainExpiry(certificate: X509Certificate): number {
  let endsAt = Infinity
  const seen = new Set<string>()
  for (let one: X509Certificate | undefined = certificate; one !== undefined; one = one.issuerCertificate) {
    // An authority that signs itself is its own issuer.
    if (seen.has(one.fingerprint256)) break
    seen.add(one.fingerprint256)
    endsAt = Math.min(endsAt, Date.parse(one.validTo))
  }
  return endsAt
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

/**
 * The one name of that kind. Names are listed as `DNS:a, URI:b`; those that could be taken for a list themselves are
 * in quotes (CVE-2021-44532), which no name of a caller needs.
 */
function findSoleName(alternativeNames: string, kind: keyof typeof subjectAltNameLabels): string {
  const label = `${subjectAltNameLabels[kind]}:`
  const names = alternativeNames.split(', ').filter((entry) => entry.startsWith(label))
  const name = names[0]?.slice(label.length)
  if (alternativeNames.includes('"') || names.length !== 1 || !isValidPrincipalName(name)) {
    throw new AuthenticationError('invalid_certificate_name')
  }
  // Upper and lower case are the same host.
  return kind === 'dns' ? name.toLowerCase() : name
}
