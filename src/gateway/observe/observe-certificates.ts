import { X509Certificate } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import { Gauge, type Registry } from 'prom-client'

/** PEM, as it is given to TLS; undefined where there is no certificate. */
type Certificate = SecureContextOptions['cert']

/** Tells when the certificates of the gateway end. */
export interface ObservedCertificates {
  /** Takes the certificate that clients of the gateway see. */
  listener(certificate: Certificate): void
  /** Takes the certificate that the upstream of that name sees. */
  upstream(name: string, certificate: Certificate): void
}

const blocks = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Adds a gauge of when certificates end: of several in one file, the first that does. */
export function observeCertificates(registry: Registry): ObservedCertificates {
  const gauge = new Gauge({
    name: 'catalog_gateway_certificate_expiry_timestamp_seconds',
    help: 'When a certificate that the gateway shows ends, since 1970, by who sees it (clients, upstream).',
    labelNames: ['shown_to', 'upstream'],
    aggregator: 'min',
    registers: [registry],
  })
  const note = (labels: { shown_to: string; upstream: string }, certificate: Certificate): void => {
    const found = String(certificate ?? '').match(blocks) ?? []
    const ends = found.map((block) => Date.parse(new X509Certificate(block).validTo))
    if (ends.length > 0) gauge.set(labels, Math.min(...ends) / 1000)
  }
  return {
    listener: (certificate) => note({ shown_to: 'clients', upstream: '' }, certificate),
    upstream: (upstream, certificate) => note({ shown_to: 'upstream', upstream }, certificate),
  }
}
