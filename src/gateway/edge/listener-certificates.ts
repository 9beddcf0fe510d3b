import { constants } from 'node:crypto'
import type { Server } from 'node:net'
import { createSecureContext, type SecureContextOptions, type Server as TlsServer } from 'node:tls'
import { watchFile } from '../../identity/watch-file.ts'
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
): Promise<{ close(): void }> {
  const listener = server as TlsServer
  const failed = (cause: unknown): void =>
    log.error({ error: String(cause) }, 'certificates not reloaded: the last good ones stay in force')
  const reload = (): void => {
    readCertificates(settings)
      .then((context) => {
        listener.setSecureContext(context)
        taken(context)
      })
      .then(() => log.info('certificates reloaded'), failed)
  }
  const { certificate, key, clientCertificateAuthority, clientRevocationList } = settings
  const files = [certificate, key, clientCertificateAuthority, clientRevocationList]
  let isFollowing = false
  const watched = await Promise.all(
    files
      .filter((file) => file !== undefined)
      .map((file) => watchFile(file, () => isFollowing && reload(), { intervalMs: lookMs, failed })),
  )
  isFollowing = true
  return { close: () => watched.forEach((each) => each.close()) }
}
