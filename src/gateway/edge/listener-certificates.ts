import { constants } from 'node:crypto'
import type { Server } from 'node:net'
import { createSecureContext, type SecureContextOptions, type Server as TlsServer } from 'node:tls'
import { stampOf, watch, type WatchedFile } from '../../identity/watch-file.ts'
import { readPemFile } from '../../interface/pem-file.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { TlsSettings } from './edge-settings.ts'

const lookMs = 1_000

/**
 * What a TLS listener is made of. Throws where a file cannot be read or is not whole, or certificate and key are no
 * pair.
 */
export async function readCertificates(settings: TlsSettings): Promise<SecureContextOptions> {
  const { certificate, key, clientCertificateAuthority, clientRevocationList } = settings
  const isAsked = settings.clientCertificate !== 'none'
  const context: SecureContextOptions = {
    minVersion: 'TLSv1.2',
    cert: await readPemFile(certificate, 'CERTIFICATE'),
    key: await readPemFile(key, 'PRIVATE KEY'),
    ...(clientCertificateAuthority !== undefined && {
      ca: await readPemFile(clientCertificateAuthority, 'CERTIFICATE'),
    }),
    ...(clientRevocationList !== undefined && { crl: await readPemFile(clientRevocationList, 'X509 CRL') }),
    // A session that is resumed is not verified again, so none is where certificates say who calls.
    ...(isAsked && { secureOptions: constants.SSL_OP_NO_TICKET }),
  }
  createSecureContext(context)
  return context
}

/**
 * Follows the files of a TLS listener: connections that begin after a change see the new ones. Files that belong
 * together may be written one after the other: until they fit, those that were read before stay in force. `taken` is
 * told of new ones.
 */
export async function followCertificates(
  server: Server,
  settings: TlsSettings,
  log: Logger,
  taken: (context: SecureContextOptions) => void,
): Promise<WatchedFile> {
  const listener = server as TlsServer
  const { certificate, key, clientCertificateAuthority, clientRevocationList } = settings
  const files = [certificate, key, clientCertificateAuthority, clientRevocationList].filter(
    (file) => file !== undefined,
  )
  let isFollowing = false
  const watched = await watch(
    {
      stamp: async () => (await Promise.all(files.map(stampOf))).join(' '),
      read: () => readCertificates(settings),
    },
    (context) => {
      listener.setSecureContext(context)
      taken(context)
      if (isFollowing) log.info('certificates reloaded')
    },
    {
      intervalMs: lookMs,
      failed: (cause) =>
        log.error({ error: String(cause) }, 'certificates not reloaded: the last good ones stay in force'),
    },
  )
  isFollowing = true
  return watched
}
