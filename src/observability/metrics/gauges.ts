import { X509Certificate } from 'node:crypto'
import type { StatsFs } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { SecureContextOptions } from 'node:tls'
import type { AuditLog, Sinks } from '../../audit/index.ts'
import type { Authenticator, JwksStatus } from '../../identity/index.ts'
import type { Metrics } from './metrics.ts'

/** Hex digits that a number represents exactly. */
const exactHexDigits = 12

/** Exports the state of the audit log and the space of its volume. A truncated log can be detected from stored metrics. */
export function exportAudit(metrics: Metrics, audit: AuditLog, folder: string): void {
  metrics.audit_writable(() => (audit.status().writable ? 1 : 0))
  metrics.audit_queued_records(() => audit.status().queued)
  metrics.audit_pending_intents(() => audit.status().unresolved)
  metrics.audit_head_sequence(() => audit.status().head.seq)
  // The hash is no label: each would be a new series.
  metrics.audit_head_hash(() => Number.parseInt(audit.status().head.hash.slice(0, exactHexDigits), 16))
  const readVolume = (read: (volume: StatsFs) => number) => (): Promise<number> =>
    statfs(folder).then(read, () => NaN)
  metrics.audit_volume_available_bytes(readVolume(({ bavail, bsize }) => bavail * bsize))
  metrics.audit_volume_size_bytes(readVolume(({ blocks, bsize }) => blocks * bsize))
}

/** Exports how far the sinks of the audit log are behind it. */
export function exportSinks(metrics: Metrics, sinks: Sinks): void {
  type Status = ReturnType<Sinks['status']>[number]['status']
  const ofEach = (read: (status: Status) => number | undefined) => () =>
    sinks.status().map(({ sink, status }) => [{ sink }, read(status)] as const)
  metrics.audit_sink_lag_records(ofEach(({ lagRecords }) => lagRecords))
  metrics.audit_sink_lag_seconds(ofEach(({ lagSeconds }) => lagSeconds))
  metrics.audit_sink_last_success_timestamp_seconds(
    ofEach(({ lastSuccess }) => lastSuccess && lastSuccess / 1000),
  )
}

/** Exports the state of API keys, of the token cache, and of the keys of issuers. */
export function exportIdentity(metrics: Metrics, authenticator: Pick<Authenticator, 'status'>): void {
  metrics.api_keys(() => authenticator.status().apiKeys.keys)
  metrics.api_keys_outdated(() => (authenticator.status().apiKeys.isOutdated ? 1 : 0))
  metrics.api_keys_next_expiry_timestamp_seconds(() => {
    const { nextExpiryMs } = authenticator.status().apiKeys
    return nextExpiryMs && nextExpiryMs / 1000
  })
  metrics.token_cache_entries(() => authenticator.status().cachedTokens)
  const ofEach = (read: (status: JwksStatus) => number | undefined) => () =>
    authenticator.status().issuers.map(({ name, ...status }) => [{ issuer: name }, read(status)] as const)
  metrics.jwks_keys(ofEach(({ keyCount }) => keyCount))
  metrics.jwks_usable(ofEach(({ isUsable }) => (isUsable ? 1 : 0)))
  metrics.jwks_last_fetch_timestamp_seconds(ofEach(({ fetchedAt }) => fetchedAt && fetchedAt / 1000))
  metrics.jwks_consecutive_fetch_failures(ofEach(({ consecutiveFailures }) => consecutiveFailures))
}

const certificateBlocks = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Exports when a certificate (PEM, as node:tls takes it; undefined without one) of the listener, or of the named upstream,
 * expires; for several certificates in one file, the earliest.
 */
export function exportCertificate(
  { certificate_expiry_timestamp_seconds: gauge }: Metrics,
  certificate: SecureContextOptions['cert'],
  upstream?: string,
): void {
  const found = String(certificate ?? '').match(certificateBlocks) ?? []
  const expiryTimes = found.map((block) => Date.parse(new X509Certificate(block).validTo))
  if (expiryTimes.length === 0) return
  const side = upstream === undefined ? 'downstream' : 'upstream'
  gauge.set({ side, upstream: upstream ?? '' }, Math.min(...expiryTimes) / 1000)
}
