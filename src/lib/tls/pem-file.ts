import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'

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
export async function readKeyPair(certFile: string, keyFile: string): Promise<{ cert: string; key: string }> {
  const cert = await readPemFile(certFile, 'CERTIFICATE')
  const key = await readPemFile(keyFile, 'PRIVATE KEY')
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error(`the key in ${keyFile} is not that of the certificate in ${certFile}`)
  return { cert, key }
}
