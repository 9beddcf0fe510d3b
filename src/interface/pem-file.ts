import { readFile } from 'node:fs/promises'

/** What a PEM file holds: what its first lines end with (RFC 7468), whatever stands before that. */
type PemContent = 'CERTIFICATE' | 'PRIVATE KEY' | 'X509 CRL'

/**
 * The text of a PEM file that holds such a thing, and nothing that is cut off. Throws what reading throws, and where it
 * does not: a file that is just being written is empty at first, and to node:tls an empty text is as good as none, so
 * that a server has no certificate, or trusts every authority that the world trusts.
 */
export async function readPemFile(file: string, content: PemContent): Promise<string> {
  const text = await readFile(file, 'utf8')
  const begun = [...text.matchAll(/^-----BEGIN ([A-Z0-9 ]+)-----/gm)].map(([, label]) => label ?? '')
  const ended = text.match(/^-----END [A-Z0-9 ]+-----/gm)?.length ?? 0
  const isThere = begun.some((label) => label.endsWith(content))
  if (!isThere || begun.length !== ended)
    throw new Error(`expected a complete PEM file with a ${content}: ${file}`)
  return text
}
