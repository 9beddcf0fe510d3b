import { X509Certificate } from 'node:crypto'
import type { TestCertificate } from './test-certificates.ts'

/** The header line of RFC 9440. */
export function writeClientCert({ cert }: Pick<TestCertificate, 'cert'>): string {
  return `client-cert: :${new X509Certificate(cert).raw.toString('base64')}:`
}

/** `Cert` as in the header of Envoy; nginx has the value in `$ssl_client_escaped_cert`. */
export function writeCertPair({ cert }: Pick<TestCertificate, 'cert'>): string {
  return `Cert="${encodeURIComponent(cert)}"`
}

/** `Hash` as in the header of Envoy. */
export function writeHashPair({ cert }: Pick<TestCertificate, 'cert'>): string {
  return `Hash=${new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase()}`
}
