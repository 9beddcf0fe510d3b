import { X509Certificate } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import { Gauge, type Registry } from 'prom-client'

/** PEM, as node:tls takes it; undefined without a certificate. */
type PemCertificates = SecureContextOptions['cert']

export interface CertificateMetrics {
  setListener(certificate: PemCertificates): void
  setUpstream(name: string, certificate: PemCertificates): void
}

const certificateBlocks = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Registers a gauge of certificate expiry; for several certificates in one file, the earliest. */
export function registerCertificateMetrics(registry: Registry): CertificateMetrics {
  const gauge = new Gauge({
    name: 'catalog_gateway_certificate_expiry_timestamp_seconds',
    help: 'Unix time at which a certificate of the gateway expires, by side (downstream, upstream).',
    labelNames: ['side', 'upstream'],
    registers: [registry],
  })
  const setExpiry = (labels: { side: string; upstream: string }, certificate: PemCertificates): void => {
    const found = String(certificate ?? '').match(certificateBlocks) ?? []
    const expiryTimes = found.map((block) => Date.parse(new X509Certificate(block).validTo))
    if (expiryTimes.length > 0) gauge.set(labels, Math.min(...expiryTimes) / 1000)
  }
  return {
    setListener: (certificate) => setExpiry({ side: 'downstream', upstream: '' }, certificate),
    setUpstream: (upstream, certificate) => setExpiry({ side: 'upstream', upstream }, certificate),
  }
}
