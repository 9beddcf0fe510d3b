import { createPrivateKey, X509Certificate, constants } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  createSecureContext,
  type SecureContextOptions,
  type DetailedPeerCertificate,
  type TLSSocket,
} from 'node:tls'

/** End of the label of a PEM block (RFC 7468). */
type PemContent = 'CERTIFICATE' | 'PRIVATE KEY' | 'X509 CRL'

/**
 * Reads a PEM file. Throws if it cannot be read, has no block with that content, or has an unterminated block. A file
 * is empty while it is first written, and node:tls treats empty text as an unset option: a server would have no
 * certificate, or trust every public authority.
 */
export async function readPemFile(file: string, content: PemContent): Promise<string> {
  const text = await readFile(file, 'utf8')
  const started = [...text.matchAll(/^-----BEGIN ([A-Z0-9 ]+)-----/gm)].map(([, label]) => label ?? '')
  const ended = text.match(/^-----END [A-Z0-9 ]+-----/gm)?.length ?? 0
  const hasContent = started.some((label) => label.endsWith(content))
  if (!hasContent || started.length !== ended)
    throw new Error(`expected a complete PEM file with a ${content}: ${file}`)
  return text
}

/**
 * Reads a certificate chain and its private key. Throws if the key is not that of the first certificate: OpenSSL compares
 * only keys of one type, and a renewal from RSA to EC that writes file by file would end every handshake.
 */
async function readKeyPair(certFile: string, keyFile: string): Promise<{ cert: string; key: string }> {
  const cert = await readPemFile(certFile, 'CERTIFICATE')
  const key = await readPemFile(keyFile, 'PRIVATE KEY')
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error(`the key in ${keyFile} is not that of the certificate in ${certFile}`)
  return { cert, key }
}

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

/** Whether the client has presented a certificate, valid or not. */
export function hasClientCertificate(socket: TLSSocket): boolean {
  // Not getPeerX509Certificate: before Node 26.10 it removes the issuers that the client has sent from the connection.
  return isPresent(socket.getPeerCertificate())
}

/**
 * The certificate of the client and those of its issuers, as far as the connection knows them: sent by the client, or
 * trusted by the server. Empty if the client has presented none.
 */
export function readClientChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = []
  const seen = new Set<string>()
  let next: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true)
  // A self-signed authority is its own issuer.
  while (isPresent(next) && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256)
    chain.push(new X509Certificate(next.raw))
    next = next.issuerCertificate
  }
  return chain
}

/**
 * Whether each certificate was signed by the next one, and the last one by itself. An incomplete chain is no evidence
 * about its missing issuers: Node 24.20 and 26.8, among others, hide those that the client has sent.
 */
export function isCompleteChain(chain: readonly X509Certificate[]): boolean {
  return (
    chain.length > 0 &&
    chain.every((certificate, index) => {
      const issuer = chain[index + 1] ?? certificate
      return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
    })
  )
}

/** Without a certificate node:tls returns an empty object, and null for a closed connection. */
function isPresent(
  certificate: Partial<DetailedPeerCertificate> | null | undefined,
): certificate is DetailedPeerCertificate {
  return certificate?.raw !== undefined
}
