import type { SecureContextOptions } from 'node:tls'
import type { TlsSettings } from '../../config/listen-settings.ts'
import { fileStamp, watchSource, type FileWatcher } from '../../lib/fs/watch-file.ts'
import { readServerCertificates } from '../../lib/tls/server-certificates.ts'
import type { Logger } from '../../observability/log/gateway-log.ts'

const intervalMs = 500
const materials = ['cert', 'key', 'ca', 'crl'] as const

/** The watched certificates of a TLS listener. */
export interface WatchedCertificates {
  readonly settings: TlsSettings
  /** The certificates that the listener was opened with. */
  readonly context: SecureContextOptions
  readonly log: Logger
  readonly onChange: (context: SecureContextOptions) => void
}

/**
 * Watches the files of a TLS listener and calls `onChange` within a second of a change. Files that belong together may
 * be written one after the other: until they match, the last valid ones stay in force.
 */
export async function watchCertificates({
  settings,
  context: opened,
  log,
  onChange,
}: WatchedCertificates): Promise<FileWatcher> {
  const { certFile, keyFile, clientCaFile, clientCrlFile } = settings
  const files = [certFile, keyFile, clientCaFile, clientCrlFile].filter((file) => file !== undefined)
  let isFirst = true
  return watchSource(
    {
      stamp: async () => (await Promise.all(files.map(fileStamp))).join(' '),
      read: () => readServerCertificates(settings),
    },
    (context) => {
      // The first read reports only what has changed since the listener was opened.
      const isUnchanged = materials.every((material) => context[material] === opened[material])
      if (!isFirst || !isUnchanged) {
        onChange(context)
        log.info('certificates reloaded')
      }
      isFirst = false
    },
    {
      intervalMs,
      onError: (cause) =>
        log.error({ error: String(cause) }, 'certificates not reloaded: the last good ones stay in force'),
    },
  )
}
