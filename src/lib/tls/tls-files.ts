import { createSecureContext } from 'node:tls'
import { z } from 'zod'
import { readPemFile } from './pem-file.ts'

const path = z.string().min(1)

/** The settings of what is shown and trusted in TLS, as members of a zod object. */
export const tlsFiles = {
  certificateAuthority: path
    .optional()
    .describe('PEM certificates to trust instead of the system certificates.'),
  clientCertificate: z
    .strictObject({
      certificate: path.describe('Its certificate, and those between it and its authority.'),
      key: path.describe('The private key of the certificate.'),
    })
    .optional()
    .describe('PEM files with what the gateway shows of itself in TLS: its certificates, and their key.'),
}

type TlsFiles = z.output<z.ZodObject<typeof tlsFiles>>

/** The files' contents, as node:tls takes them. */
interface TlsMaterial {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** Whether any of the files is named. */
export function namesTlsFiles({ certificateAuthority, clientCertificate }: TlsFiles): boolean {
  return certificateAuthority !== undefined || clientCertificate !== undefined
}

/** The same files with absolute paths. */
export function absoluteTlsFiles(
  { certificateAuthority: authority, clientCertificate: client }: TlsFiles,
  absolute: (path: string) => string,
): TlsFiles {
  return {
    ...(authority !== undefined && { certificateAuthority: absolute(authority) }),
    ...(client && {
      clientCertificate: { certificate: absolute(client.certificate), key: absolute(client.key) },
    }),
  }
}

/**
 * Reads the files; `whose` names the owner in errors, as in `of an audit sink`. Throws if a file cannot be read, or if
 * certificate, key or authority cannot be used.
 */
export async function readTlsFiles(
  { certificateAuthority: authority, clientCertificate: client }: TlsFiles,
  whose: string,
): Promise<TlsMaterial> {
  const material = {
    ...(authority !== undefined && { ca: await readPemFile(authority, 'CERTIFICATE') }),
    ...(client && {
      cert: await readPemFile(client.certificate, 'CERTIFICATE'),
      key: await readPemFile(client.key, 'PRIVATE KEY'),
    }),
  }
  try {
    createSecureContext(material)
  } catch (error) {
    throw new Error(`certificate and key ${whose} cannot be used`, { cause: error })
  }
  return material
}
