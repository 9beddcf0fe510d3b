import { constants } from 'node:crypto'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { readKeyPair, readPemFile } from './pem-file.ts'

export interface ServerCertificateFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly clientAuth: 'none' | 'optional' | 'required'
  readonly clientCaFile?: string | undefined
  readonly clientCrlFile?: string | undefined
}

export function listServerCertificateFiles(files: ServerCertificateFiles): readonly string[] {
  const { certFile, keyFile, clientCaFile, clientCrlFile } = files
  return [certFile, keyFile, clientCaFile, clientCrlFile].filter((file) => file !== undefined)
}

/** Throws if a file cannot be read or is incomplete, or if certificate and key do not match. */
export async function readServerCertificates(files: ServerCertificateFiles): Promise<SecureContextOptions> {
  const { certFile, keyFile, clientCaFile, clientCrlFile } = files
  const context: SecureContextOptions = {
    minVersion: 'TLSv1.2',
    ...(await readKeyPair(certFile, keyFile)),
    ...(clientCaFile !== undefined && {
      ca: await readPemFile(clientCaFile, 'CERTIFICATE'),
    }),
    ...(clientCrlFile !== undefined && { crl: await readPemFile(clientCrlFile, 'X509 CRL') }),
    // Resumed sessions are not verified again: a revoked client certificate would stay valid.
    ...(files.clientAuth !== 'none' && { secureOptions: constants.SSL_OP_NO_TICKET }),
  }
  createSecureContext(context)
  return context
}
