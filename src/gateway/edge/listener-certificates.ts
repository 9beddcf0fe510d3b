import { constants } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { stampOf, watch, type WatchedFile } from '../../identity/watch-file.ts'
import { readPemFile } from '../../interface/pem-file.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { TlsSettings } from './edge-settings.ts'

const lookMs = 500
const materials = ['cert', 'key', 'ca', 'crl'] as const

/**
 * What a TLS listener is made of. Throws where a file cannot be read or is not whole, or certificate and key are no
 * pair.
 */
export async function readCertificates(settings: TlsSettings): Promise<SecureContextOptions> {
  const { certFile, keyFile, clientCaFile, clientCrlFile } = settings
  const isAsked = settings.clientAuth !== 'none'
  const context: SecureContextOptions = {
    minVersion: 'TLSv1.2',
    cert: await readPemFile(certFile, 'CERTIFICATE'),
    key: await readPemFile(keyFile, 'PRIVATE KEY'),
    ...(clientCaFile !== undefined && {
      ca: await readPemFile(clientCaFile, 'CERTIFICATE'),
    }),
    ...(clientCrlFile !== undefined && { crl: await readPemFile(clientCrlFile, 'X509 CRL') }),
    // A session that is resumed is not verified again, so none is where certificates say who calls.
    ...(isAsked && { secureOptions: constants.SSL_OP_NO_TICKET }),
  }
  createSecureContext(context)
  return context
}

/** What is used of the files that a TLS listener was opened with. */
export interface FollowedCertificates {
  readonly settings: TlsSettings
  /** What the listener was opened with. */
  readonly context: SecureContextOptions
  readonly log: Logger
  /** Called with new ones. */
  readonly taken: (context: SecureContextOptions) => void
}

/**
 * Follows the files of a TLS listener: `taken` is called within a second of a change. Files that belong together may be
 * written one after the other: until they fit, those that were read before stay in force.
 */
export async function followCertificates(followed: FollowedCertificates): Promise<WatchedFile> {
  const { settings, context: opened, log, taken } = followed
  const { certFile, keyFile, clientCaFile, clientCrlFile } = settings
  const files = [certFile, keyFile, clientCaFile, clientCrlFile].filter((file) => file !== undefined)
  let isFirst = true
  return watch(
    {
      stamp: async () => (await Promise.all(files.map(stampOf))).join(' '),
      read: () => readCertificates(settings),
    },
    (context) => {
      // The first look finds what has changed since the listener was opened.
      const isUnchanged = materials.every((material) => context[material] === opened[material])
      if (!isFirst || !isUnchanged) {
        taken(context)
        log.info('certificates reloaded')
      }
      isFirst = false
    },
    {
      intervalMs: lookMs,
      failed: (cause) =>
        log.error({ error: String(cause) }, 'certificates not reloaded: the last good ones stay in force'),
    },
  )
}
