import { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'

/** Whether the client has presented a certificate, valid or not. */
export function hasClientCertificate(socket: TLSSocket): boolean {
  // Not getPeerX509Certificate: before Node 26.10 it removes the issuers that the client has sent from the connection.
  return isPresent(socket.getPeerCertificate())
}

/**
 * The certificate of the client and those of its issuers, as far as the connection knows them: sent by the client, or
 * trusted by the server. Empty if the client has presented none.
 */
export function readClientChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = []
  const seen = new Set<string>()
  let next: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true)
  // A self-signed authority is its own issuer.
  while (isPresent(next) && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256)
    chain.push(new X509Certificate(next.raw))
    next = next.issuerCertificate
  }
  return chain
}

/**
 * Whether each certificate was signed by the next one, and the last one by itself. An incomplete chain is no evidence
 * about its missing issuers: Node 24.20 and 26.8, among others, hide those that the client has sent.
 */
export function isCompleteChain(chain: readonly X509Certificate[]): boolean {
  return (
    chain.length > 0 &&
    chain.every((certificate, index) => {
      const issuer = chain[index + 1] ?? certificate
      return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
    })
  )
}

/** Without a certificate node:tls returns an empty object, and null for a closed connection. */
function isPresent(
  certificate: Partial<DetailedPeerCertificate> | null | undefined,
): certificate is DetailedPeerCertificate {
  return certificate?.raw !== undefined
}
