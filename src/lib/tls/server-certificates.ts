import { constants } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { readPemFile } from './pem-file.ts'

/** PEM files of a TLS server, and whether it asks clients for a certificate. */
export interface ServerCertificateFiles {
  readonly certificate: string
  readonly key: string
  readonly clientCertificate: 'none' | 'optional' | 'required'
  readonly clientCertificateAuthority?: string | undefined
  readonly clientRevocationList?: string | undefined
}

/** Throws if a file cannot be read or is incomplete, or if certificate and key do not belong together. */
export async function readServerCertificates(files: ServerCertificateFiles): Promise<SecureContextOptions> {
  const { certificate, key, clientCertificateAuthority, clientRevocationList } = files
  const context: SecureContextOptions = {
    minVersion: 'TLSv1.2',
    cert: await readPemFile(certificate, 'CERTIFICATE'),
    key: await readPemFile(key, 'PRIVATE KEY'),
    ...(clientCertificateAuthority !== undefined && {
      ca: await readPemFile(clientCertificateAuthority, 'CERTIFICATE'),
    }),
    ...(clientRevocationList !== undefined && { crl: await readPemFile(clientRevocationList, 'X509 CRL') }),
    // A resumed session is not verified again: a revoked client certificate would stay valid.
    ...(files.clientCertificate !== 'none' && { secureOptions: constants.SSL_OP_NO_TICKET }),
  }
  createSecureContext(context)
  return context
}
