import { createHash } from 'node:crypto'

/** Reads a whole body. Resolves to undefined above `maxBytes`: the rest is not read, and its connection is closed. */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/** Returns a strong entity tag of a representation (RFC 9110, section 8.8.3). */
export function createEntityTag(representation: Buffer | string): string {
  return `"${createHash('sha256').update(representation).digest('base64url').slice(0, 22)}"`
}

/** Whether a value of If-None-Match lists the tag, or any: then the response is 304 (RFC 9110, section 13.1.2). */
export function listsEntityTag(ifNoneMatch: string, tag: string): boolean {
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((listed) => listed.trim().replace(/^W\//, '') === tag)
  )
}
