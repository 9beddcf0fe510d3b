import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { z } from 'zod'
import type { tlsFiles } from '../../interface/tls-files.ts'

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

/** Reads the files. Throws what reading throws, and where certificate, key or authority cannot be used. */
export async function readTlsFiles({
  certificateAuthority: authority,
  clientCertificate: client,
}: TlsFiles): Promise<TlsMaterial> {
  const material = {
    ...(authority !== undefined && { ca: await readFile(authority, 'utf8') }),
    ...(client && {
      cert: await readFile(client.certificate, 'utf8'),
      key: await readFile(client.key, 'utf8'),
    }),
  }
  if (material.ca?.includes('-----BEGIN CERTIFICATE-----') === false) {
    throw new Error('the certificate authority of an audit sink holds no PEM certificate')
  }
  try {
    createSecureContext(material)
  } catch (error) {
    throw new Error('certificate and key of an audit sink cannot be used', { cause: error })
  }
  return material
}
