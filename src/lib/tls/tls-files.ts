import { createSecureContext } from 'node:tls'
import { z } from 'zod'
import { readKeyPair, readPemFile } from './pem-file.ts'

const path = z.string().min(1)

/** TLS settings of a client, as members of a zod object. */
export const tlsFiles = {
  caFile: path
    .optional()
    .describe('PEM file: CA certificates to trust instead of those of the system and of `outbound.caFile`.'),
  clientCertificate: z
    .strictObject({
      certFile: path.describe('PEM file: the certificate chain of the gateway.'),
      keyFile: path.describe('PEM file: the private key of the certificate.'),
    })
    .optional()
    .describe('Client certificate of the gateway.'),
}

export type TlsFiles = z.output<z.ZodObject<typeof tlsFiles>>

/** PEM texts; by default, those of the system are trusted. */
export interface TlsMaterial {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export function hasTlsFiles({ caFile, clientCertificate }: TlsFiles): boolean {
  return caFile !== undefined || clientCertificate !== undefined
}

export function resolveTlsFiles(
  { caFile: authority, clientCertificate: client }: TlsFiles,
  absolute: (path: string) => string,
): TlsFiles {
  return {
    ...(authority !== undefined && { caFile: absolute(authority) }),
    ...(client && {
      clientCertificate: { certFile: absolute(client.certFile), keyFile: absolute(client.keyFile) },
    }),
  }
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
