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
