import { createSecureContext } from 'node:tls'
import { readKeyPair, readPemFile } from './pem-file.ts'

/** The files of a client. */
export interface TlsFiles {
  readonly caFile?: string | undefined
  readonly clientCertificate?: { readonly certFile: string; readonly keyFile: string } | undefined
}

/** PEM texts; by default, those of the system are trusted. */
export interface TlsMaterial {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export function hasTlsFiles({ caFile, clientCertificate }: TlsFiles): boolean {
  return caFile !== undefined || clientCertificate !== undefined
}

/** The files of the settings. */
export function listTlsFiles({ caFile, clientCertificate }: TlsFiles): readonly string[] {
  const files = [caFile, clientCertificate?.certFile, clientCertificate?.keyFile]
  return files.filter((file) => file !== undefined)
}

/** `owner` completes the error, as in `of an audit sink`. Throws if a file cannot be read or is invalid. */
export async function readTlsFiles(
  { caFile: authority, clientCertificate: client }: TlsFiles,
  owner: string,
): Promise<TlsMaterial> {
  const material = {
    ...(authority !== undefined && { ca: await readPemFile(authority, 'CERTIFICATE') }),
    ...(client && (await readKeyPair(client.certFile, client.keyFile))),
  }
  try {
    createSecureContext(material)
  } catch (error) {
    throw new Error(`certificate and key ${owner} cannot be used`, { cause: error })
  }
  return material
}
